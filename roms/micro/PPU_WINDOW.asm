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

; Fill the map at HL: row r, column c gets tile (r + 2 * c) mod 8, 7 as 1; the last row and column get
; rings, so that the map's edge is seen.
FillMap:
    ld b, 0             ; row
.row
    ld c, 0             ; column
.column
    ld a, c
    cp 31
    jr z, .edge
    ld a, b
    cp 31
    jr z, .edge
    ld a, c
    add a
    add b
    and 7
    cp 7
    jr nz, .put
    ld a, 1
    jr .put
.edge
    ld a, 5
.put
    IF TILE_OFFSET
    add TILE_OFFSET
    ENDC
    ld [hl+], a
    inc c
    ld a, c
    cp 32
    jr nz, .column
    inc b
    ld a, b
    cp 32
    jr nz, .row
    ret

Tiles:
; 0: empty; 1: a frame; 2: a chequerboard; 3: a slope; 4: bars; 5: a ring; 6: an F, to see what is turned
    ds 16, 0
    dw `33333333, `30000003, `30111103, `30122103, `30122103, `30111103, `30000003, `33333333
    dw `11221122, `11221122, `22112211, `22112211, `11221122, `11221122, `22112211, `22112211
    dw `30000000, `23000000, `12300000, `01230000, `00123000, `00012300, `00001230, `00000123
    dw `01230123, `01230123, `01230123, `01230123, `01230123, `01230123, `01230123, `01230123
    dw `00333300, `03000030, `30022003, `30200203, `30200203, `30022003, `03000030, `00333300
    dw `33333330, `33000000, `33000000, `33331100, `33000000, `33000000, `33000000, `00000000
.end
