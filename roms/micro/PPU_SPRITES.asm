; SPDX-License-Identifier: MIT
; PPU_SPRITES
; proves: sprites: turning, palettes, colour 0 seen through, behind the background, cut at the edges, which
;         of two lies on top, ten in a line.
; expect frames=30 frame=2549f57564e85a70

INCLUDE "micro.inc"
HEADER "PPU_SPRITES", ROM

    begin
    lcd_off
    clear_video
    copy $8000, Tiles, Tiles.end
    copy $FE00, Sprites, Sprites.end
    ld a, 4             ; bars in the background where one sprite lies behind
    ld [$9800 + 2 * 32 + 12], a
    ld [$9800 + 2 * 32 + 13], a
    ld a, 2             ; and a chequered band below the tall group
    ld hl, $9800 + 11 * 32
    ld b, 32
.band
    ld [hl+], a
    dec b
    jr nz, .band
    ld a, %00011011     ; the other way round
    ldh [rOBP1], a
    lcd_on LCDC_TILES_80 | LCDC_BG_ON | LCDC_OBJ_ON
    done

; line + 16, column + 8, tile, attributes
Sprites:
    ; turned all four ways
    db 32, 24, 6, 0
    db 32, 40, 6, OBJ_FLIP_X
    db 32, 56, 6, OBJ_FLIP_Y
    db 32, 72, 6, OBJ_FLIP_X | OBJ_FLIP_Y
    ; the other palette; behind the background
    db 32, 88, 5, OBJ_PAL1
    db 32, 106, 1, OBJ_BEHIND
    ; partly outside
    db 56, 4, 1, 0
    db 56, 164, 1, 0
    db 12, 128, 1, 0
    db 156, 128, 1, 0
    ; the one further left lies on top, whatever comes first
    db 76, 32, 4, 0
    db 78, 28, 1, 0
    ; in the same column the first one lies on top
    db 76, 68, 5, 0
    db 78, 68, 4, 0
    ; twelve in a line: the last two are not shown
    db 106, 16, 1, 0
    db 106, 28, 1, 0
    db 106, 40, 1, 0
    db 106, 52, 1, 0
    db 106, 64, 1, 0
    db 106, 76, 1, 0
    db 106, 88, 1, 0
    db 106, 100, 1, 0
    db 106, 112, 1, 0
    db 106, 124, 1, 0
    db 106, 136, 1, 0
    db 106, 148, 1, 0
.end

INCLUDE "tiles.inc"
