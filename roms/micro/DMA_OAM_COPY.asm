; SPDX-License-Identifier: MIT
; DMA_OAM_COPY
; proves: OAM DMA copies 160 bytes from WRAM to sprite memory while a routine in HRAM waits, and
;         FF46 reads back what was written.
; expect frames=10 [$C000]=A0 C1 [$C200]=01 04 07 0A 0D 10 13 16 19 1C 1F 22 25 28 2B 2E
; and    [$C290]=B1 B4 B7 BA BD C0 C3 C6 C9 CC CF D2 D5 D8 DB DE

INCLUDE "micro.inc"
HEADER "DMA_OAM_COPY", ROM

    begin
    lcd_off             ; the display would keep us from sprite memory
    fill $FE00, $A0, 0
    copy $FF80, Routine, Routine.end

    ld hl, $C100        ; byte i is 3 * i + 1
    ld a, 1
    ld b, 160
.pattern
    ld [hl+], a
    add 3
    dec b
    jr nz, .pattern

    call $FF80
    ldh a, [rDMA]
    ld [$C001], a

    ld hl, $FE00        ; read it back to C200 and count what is right
    ld de, $C200
    ld bc, 160          ; B: right ones
.compare
    ld a, [hl+]
    ld [de], a
    push hl
    ld h, $C1
    ld l, e
    cp [hl]
    pop hl
    jr nz, .wrong
    inc b
.wrong
    inc e
    dec c
    jr nz, .compare
    ld a, b
    ld [$C000], a
    done

; The CPU can reach nothing but HRAM while the transfer runs: 160 M-cycles, 4 in each round.
Routine:
    ld a, $C1
    ldh [rDMA], a
    ld a, 41
.wait
    dec a
    jr nz, .wait
    ret
.end
