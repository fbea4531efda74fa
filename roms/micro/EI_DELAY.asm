; SPDX-License-Identifier: MIT
; EI_DELAY
; proves: EI takes effect after the instruction that follows it, DI right behind EI wins, a second EI
;         does not wait again, RETI works at once.
; expect frames=5 [$C000]=00 01 00 00 04

INCLUDE "micro.inc"
HEADER "EI_DELAY", ROM

; The handler keeps B as it was when it was called, and counts calls.
SECTION "timer", ROM0[$0050]
    jp Handler

SECTION "handler", ROM0
Handler:
    ld a, b
    ld [hl+], a
    inc d
    ld a, d
    cp 3                ; in the third call ask for another interrupt: RETI lets it in at once
    jr nz, .leave
    ld a, INT_TIMER
    ldh [rIF], a
.leave
    reti

    begin
    ld hl, $C000
    ld a, INT_TIMER
    ldh [rIE], a

    ldh [rIF], a        ; 1. EI, DI: nothing happens
    ei
    di
    nop
    ld a, d
    ld [hl+], a         ; C000: no call

    ei                  ; 2. EI, INC B: B is 1 in the handler
    inc b
    inc b
    di
    ld b, 0             ; C001 = 1

    ld a, INT_TIMER     ; 3. EI, EI, INC B: the second EI is the instruction that is waited for
    ldh [rIF], a
    ei
    ei
    inc b
    di                  ; C002 = 0

    ld b, 0             ; 4. one more, which asks again in the handler: two calls, B the same
    ld a, INT_TIMER
    ldh [rIF], a
    ei
    nop
    inc b
    di
    ; C003 = 0 and, if RETI waited, C004 = 1 would follow
    ld a, d
    ld [$C004], a       ; 4 calls in all
    done
