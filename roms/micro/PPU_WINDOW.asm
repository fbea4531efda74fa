; SPDX-License-Identifier: MIT
; PPU_WINDOW
; proves: the window begins at line WY and column WX - 7, over the background, with lines counted by
;         itself: hidden for lines 81..100, it goes on where it stopped.
; expect frames=30 frame=571d961b3067f689

INCLUDE "micro.inc"
HEADER "PPU_WINDOW", ROM
DEF TILE_OFFSET EQU 0
DEF SHOWN EQU LCDC_ON | LCDC_TILES_80 | LCDC_BG_ON | LCDC_WIN_ON | LCDC_WIN_9C00

SECTION "stat", ROM0[$0048]
    jp Stat

    begin
    lcd_off
    clear_video
    copy $8000, Tiles, Tiles.end
    ld hl, $9800        ; the background: chequered
    ld bc, 32 * 32
.ground
    ld a, 2
    ld [hl+], a
    dec bc
    ld a, b
    or c
    jr nz, .ground
    ld hl, $9C00
    call FillMap
    ld a, 50
    ldh [rWY], a
    ld a, 7 + 60
    ldh [rWX], a
    ld a, 80
    ldh [rLYC], a
    ld a, %01000000     ; an interrupt at LY = LYC
    ldh [rSTAT], a
    ld a, SHOWN
    ldh [rLCDC], a
    xor a
    ldh [rIF], a
    ld a, INT_STAT
    ldh [rIE], a
    ei
.sleep
    halt
    nop
    jr .sleep

; In the HBlank of line 80 hide it, in that of line 100 show it again.
Stat:
    ldh a, [rSTAT]
    and 3
    jr nz, Stat         ; until HBlank
    ldh a, [rLYC]
    cp 80
    jr nz, .show
    ld a, SHOWN - LCDC_WIN_ON
    ldh [rLCDC], a
    ld a, 100
    ldh [rLYC], a
    reti
.show
    ld a, SHOWN
    ldh [rLCDC], a
    ld a, 80
    ldh [rLYC], a
    reti

INCLUDE "map.inc"
INCLUDE "tiles.inc"
