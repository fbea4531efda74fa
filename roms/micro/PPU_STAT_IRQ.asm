; SPDX-License-Identifier: MIT
; PPU_STAT_IRQ
; proves: STAT interrupts: LY = LYC at the lines asked for, HBlank once in each of 144 lines, none of it in
;         VBlank; LY counts beyond 151.
; expect frames=20 [$C000]=28 50 78 90 [$C010]=90 [$C020]=98

INCLUDE "micro.inc"
HEADER "PPU_STAT_IRQ", ROM

SECTION "stat", ROM0[$0048]
    jp Stat

    begin
    lcd_off
    clear_video
    fill $C000, 64, 0
    lcd_on LCDC_BG_ON
    ld hl, $C000        ; 1. LYC at 40, 80, 120, 144
    ld d, 40
.lines
    ld a, d
    ldh [rLYC], a
    ld a, %01000000
    ldh [rSTAT], a
    xor a
    ldh [rIF], a
    ld a, INT_STAT
    ldh [rIE], a
    ei
    halt                ; the handler keeps LY at [HL]
    nop
    di
    inc hl
    ld a, d
    cp 144
    jr z, .count
    add 40
    ld d, a
    cp 160
    jr nz, .lines
    ld d, 144
    jr .lines

.count                  ; 2. HBlanks between two VBlanks
    xor a
    ldh [rSTAT], a
    wait_vblank
    ld hl, $C030
    ld e, 0
    ld a, %00001000
    ldh [rSTAT], a
    xor a
    ldh [rIF], a
    ei
.wait                   ; out of VBlank ...
    ldh a, [rLY]
    cp 144
    jr nc, .wait
.until                  ; ... and to the next
    ldh a, [rLY]
    cp 144
    jr c, .until
    di
    ld a, e
    ld [$C010], a

    ld b, 0             ; 3. the largest LY in a while
    ld c, 0
    ld d, 40
.largest
    ldh a, [rLY]
    cp b
    jr c, .smaller
    ld b, a
.smaller
    dec c
    jr nz, .largest
    dec d
    jr nz, .largest
    ld a, b             ; 152 or 153, which is there only for a moment
    and %11111000
    ld [$C020], a
    done

Stat:
    push af
    ldh a, [rLY]
    ld [hl], a
    inc e
    pop af
    reti
