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
