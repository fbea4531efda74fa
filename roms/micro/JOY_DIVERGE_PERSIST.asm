; SPDX-License-Identifier: MIT
; JOY_DIVERGE_PERSIST
; proves: the first button pressed sends the machine down one of eight ways, and it stays there
;         whatever is pressed later: machines with different inputs diverge for good.
; expect frames=40 keys=NONE [$C000]=00 00 00
; expect frames=40 keys=10*NONE,10*RIGHT,NONE [$C000]=01 11 00
; expect frames=40 keys=10*NONE,10*RIGHT,A [$C000]=01 11 10
; expect frames=40 keys=10*NONE,10*LEFT,RIGHT [$C000]=02 22 01
; expect frames=40 keys=10*NONE,10*UP,START [$C000]=03 33 80
; expect frames=40 keys=10*NONE,10*DOWN,LEFT+B [$C000]=04 44 22
; expect frames=40 keys=10*NONE,10*A,NONE [$C000]=05 55 00
; expect frames=40 keys=10*NONE,10*B,NONE [$C000]=06 66 00
; expect frames=40 keys=10*NONE,10*SELECT,DOWN [$C000]=07 77 08
; expect frames=40 keys=10*NONE,10*START,UP [$C000]=08 88 04
;
; C000: the way, 1..8; C001: what the way's own loop writes; C002: buttons held now (bit 0 RIGHT, LEFT,
; UP, DOWN, A, B, SELECT, bit 7 START); C010: counts rounds of the way's loop.

INCLUDE "micro.inc"
HEADER "JOY_DIVERGE", ROM

    begin
    fill $C000, 32, 0
.poll
    call ReadButtons
    or a
    jr z, .poll

    ld c, 0             ; the lowest bit that is set
.find
    inc c
    rrca
    jr nc, .find
    ld a, c
    ld [$C000], a
    ld hl, Ways - 2     ; jump through the table
    ld b, 0
    add hl, bc
    add hl, bc
    ld a, [hl+]
    ld h, [hl]
    ld l, a
    jp hl

Ways: dw Way1, Way2, Way3, Way4, Way5, Way6, Way7, Way8

; Each way has code of its own.
MACRO way
Way\1:
    ld a, $\1\1
    ld [$C001], a
    call ReadButtons
    ld hl, $C010
    REPT \1
    inc [hl]
    ENDR
    jr Way\1
ENDM
    way 1
    way 2
    way 3
    way 4
    way 5
    way 6
    way 7
    way 8

; The buttons held, in A and at C002. Reads several times: the lines need a moment to settle.
ReadButtons:
    ld a, %00100000     ; directions
    ldh [rP1], a
    ldh a, [rP1]
    ldh a, [rP1]
    cpl
    and $0F
    ld b, a
    ld a, %00010000     ; the others
    ldh [rP1], a
    ldh a, [rP1]
    ldh a, [rP1]
    ldh a, [rP1]
    ldh a, [rP1]
    cpl
    and $0F
    swap a
    or b
    ld b, a
    ld a, %00110000
    ldh [rP1], a
    ld a, b
    ld [$C002], a
    ret
