; SPDX-License-Identifier: MIT
; ALU_LOOP
; proves: arithmetic and logic on registers alone, without memory or devices. 256 rounds give a known
;         result, then the same rounds go on for ever: the loop that measures the bare CPU.
; expect frames=5 [$C000]=AE EB 45 23 89 AE C0
; and    SP=$DFFE

INCLUDE "micro.inc"
HEADER "ALU_LOOP", ROM

MACRO round
    add a, b
    adc a, c
    xor d
    ld d, a
    sub e
    rlca
    sbc a, h
    ld b, a
    inc c
    dec e
    and h
    or c
    cpl
    swap a
    add a, d
    ld h, a
ENDM

    begin
    ld a, $01
    ld bc, $2345
    ld de, $6789
    ld h, $AB
    ld l, 0
.warm
    round
    dec l
    jr nz, .warm

    push af
    ld [$C000], a
    ld a, b
    ld [$C001], a
    ld a, c
    ld [$C002], a
    ld a, d
    ld [$C003], a
    ld a, e
    ld [$C004], a
    ld a, h
    ld [$C005], a
    pop hl          ; F is in L
    ld a, l
    ld [$C006], a

    ld a, [$C000]
    ld h, a
.loop
    round
    jr .loop
