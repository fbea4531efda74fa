; SPDX-License-Identifier: MIT
; BG_SCROLL_SIGNED
; proves: tile numbers are signed with LCDC bit 4 clear (tiles -2..4 around 9000), the map at 9C00, and
;         scrolling by numbers that are no multiples of 8, over the map's lower right corner.
; expect frames=30 frame=9311739d1ebba894

INCLUDE "micro.inc"
HEADER "BG_SIGNED", ROM
DEF TILE_OFFSET EQU $FE ; tile numbers FE FF 00 .. 04

    begin
    lcd_off
    clear_video
    copy $8FE0, Tiles, Tiles.end
    ld hl, $9C00
    call FillMap
    ld a, 173           ; the corner comes to column 83, line 89
    ldh [rSCX], a
    ld a, 167
    ldh [rSCY], a
    lcd_on LCDC_BG_9C00 | LCDC_BG_ON
    done

INCLUDE "map.inc"
INCLUDE "tiles.inc"
