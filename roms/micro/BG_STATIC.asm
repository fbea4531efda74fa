; SPDX-License-Identifier: MIT
; BG_STATIC
; proves: background tiles and their map, all four shades, tiles at 8000.
; expect frames=30 frame=ecf61d68e6e8da75

INCLUDE "micro.inc"
HEADER "BG_STATIC", ROM
DEF TILE_OFFSET EQU 0

    begin
    lcd_off
    clear_video
    copy $8000, Tiles, Tiles.end
    ld hl, $9800
    call FillMap
    lcd_on LCDC_TILES_80 | LCDC_BG_ON
    done

INCLUDE "map.inc"
INCLUDE "tiles.inc"
