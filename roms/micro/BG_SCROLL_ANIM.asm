; SPDX-License-Identifier: MIT
; BG_SCROLL_ANIM
; proves: the background moves with SCX and SCY, changed once per VBlank by an interrupt: 2 to the right
;         and 1 down in each of 100 frames, around the map's edge. Then it stands still.
; expect frames=120 [$C000]=64 C8 64 frame=60f83f8493baf837

INCLUDE "micro.inc"
HEADER "BG_SCROLL_ANIM", ROM
DEF TILE_OFFSET EQU 0

SECTION "vblank", ROM0[$0040]
    jp VBlank

    begin
    lcd_off
    clear_video
    copy $8000, Tiles, Tiles.end
    ld hl, $9800
    call FillMap
    fill $C000, 16, 0
    lcd_on LCDC_TILES_80 | LCDC_BG_ON
    xor a
    ldh [rIF], a
    ld a, INT_VBLANK
    ldh [rIE], a
    ei
.sleep
    halt
    nop
    jr .sleep

; C000: frames moved, C001: SCX, C002: SCY
VBlank:
    ld hl, $C000
    ld a, [hl]
    cp 100
    jr z, .still
    inc [hl]
    ldh a, [rSCX]
    add 2
    ldh [rSCX], a
    ld [$C001], a
    ldh a, [rSCY]
    inc a
    ldh [rSCY], a
    ld [$C002], a
.still
    reti

INCLUDE "map.inc"
INCLUDE "tiles.inc"
