; SPDX-License-Identifier: MIT
; TIMER_DIV_BASIC
; proves: DIV counts every 256 T-cycles and any write sets it to 0; TIMA counts at the rate that TAC
;         chooses, stops when TAC says so, and reloads from TMA when it overflows.
; expect frames=10 [$C000]=00 05 14 15 F3 04 F8

INCLUDE "micro.inc"
HEADER "TIMER_DIV_BASIC", ROM

; Wait 16 * \1 + 4 T-cycles (the last round's jump is not taken, the load takes 8).
MACRO wait16
    ld b, \1
.wait\@
    dec b
    jr nz, .wait\@
ENDM

    begin
    ld hl, $C000
    ldh [rDIV], a       ; whatever is written
    ldh a, [rDIV]
    ld [hl+], a         ; 0

    ldh [rDIV], a
    wait16 88           ; 5.5 * 256 T-cycles: 5, with room on both sides
    ldh a, [rDIV]
    ld [hl+], a

    xor a
    ldh [rTIMA], a
    ldh [rTMA], a
    ld a, %110          ; every 64 T-cycles
    ldh [rTAC], a
    xor a
    ldh [rDIV], a       ; both count from here
    ldh [rTIMA], a
    wait16 80           ; 20.4 * 64 T-cycles: 20 = $14
    ldh a, [rTIMA]
    ld [hl+], a

    ld a, %010
    REPT 6
    nop                 ; to 21.25 * 64: stopping in a tick's second half would count once more
    ENDR
    ldh [rTAC], a       ; stopped at $15
    wait16 200
    ldh a, [rTIMA]
    ld [hl+], a

    ld a, $F0           ; reload value
    ldh [rTMA], a
    ld a, %110
    ldh [rTAC], a
    ld a, $FE
    ldh [rDIV], a
    ldh [rTIMA], a
    xor a
    ldh [rIF], a
    wait16 20           ; 5.5 ticks: FE FF F0 F1 F2 F3
    ldh a, [rTIMA]
    ld [hl+], a
    ldh a, [rIF]
    and INT_TIMER
    ld [hl+], a

    ldh a, [rTAC]       ; the upper five bits read as 1
    and %11111000
    ld [hl+], a
    xor a
    ldh [rTAC], a
    done
