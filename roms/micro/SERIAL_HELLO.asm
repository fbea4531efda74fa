; SPDX-License-Identifier: MIT
; SERIAL_HELLO
; proves: the serial port sends eight bits by its own clock, clears bit 7 of SC and asks for an
;         interrupt; with nobody at the other end ones are shifted in.
; expect frames=10 serial="HELLO" [$C000]=05 FF 01 08

INCLUDE "micro.inc"
HEADER "SERIAL_HELLO", ROM

    begin
    ld hl, Text
.send
    ld a, [hl+]
    or a
    jr z, .sent
    ldh [rSB], a
    ld a, $81           ; start, internal clock
    ldh [rSC], a
    ld de, 2000         ; 4096 T-cycles are needed; this is far more
.wait
    ldh a, [rSC]
    add a
    jr nc, .next        ; bit 7 has gone
    dec de
    ld a, d
    or e
    jr nz, .wait
    jr .sent            ; it never ended: leave the count short
.next
    inc b
    jr .send
.sent
    ld a, b
    ld [$C000], a
    ldh a, [rSB]
    ld [$C001], a
    ldh a, [rSC]
    and $81
    ld [$C002], a
    ldh a, [rIF]
    and INT_SERIAL
    ld [$C003], a
    done

Text: db "HELLO", 0
