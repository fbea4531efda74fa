; SPDX-License-Identifier: MIT
; TIMER_IRQ_HALT
; proves: HALT sleeps until the timer's interrupt, the handler runs once per overflow, RETI brings the
;         program back behind HALT, and HALT with interrupts off wakes without calling the handler.
; expect frames=10 [$C000]=0A 0A 0A 04 B=$00

INCLUDE "micro.inc"
HEADER "TIMER_IRQ_HALT", ROM

SECTION "timer", ROM0[$0050]
    push hl
    ld hl, $C000
    inc [hl]
    pop hl
    reti

    begin
    fill $C000, 16, 0
    ld a, 256 - 64      ; 64 ticks of 16 T-cycles: one interrupt in 1024 T-cycles
    ldh [rTMA], a
    ldh [rTIMA], a
    ld a, INT_TIMER
    ldh [rIE], a
    ld a, %101
    ldh [rTAC], a
    ld b, 10
    ei
.sleep
    halt
    nop
    ld hl, $C001        ; counts wake-ups
    inc [hl]
    dec b
    jr nz, .sleep
    di
    ld a, [$C000]
    ld [$C002], a

    xor a               ; without IME: awake, pending, and no call
    ldh [rIF], a
    halt
    nop
    ldh a, [rIF]
    and INT_TIMER
    ld [$C003], a
    xor a
    ldh [rTAC], a
    done
