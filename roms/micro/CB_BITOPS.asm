; SPDX-License-Identifier: MIT
; CB_BITOPS
; proves: rotates, shifts and SWAP with their flags, in registers and in memory; BIT leaves C alone; RES and
;         SET change one bit and no flag.
; expect frames=5 [$C040]=20 A0 30 AA 55 0F F0 F0
; and    [$C000]=0B 10 00 80 80 10 00 90 23 00 00 90 C5 00
; and    [$C00E]=FE 10 C5 00 00 90 7F 10 00 90 1F 00 00 80

INCLUDE "micro.inc"
HEADER "CB_BITOPS", ROM

; probe operation, value, carry: on E, then on [HL]; keep the result in memory and the flags.
MACRO probe
    ld e, \2
    ld [hl], \2
    ld a, $FF
    or a
    IF \3
    scf
    ENDC
    \1 e
    call First
    ld a, $FF
    or a
    IF \3
    scf
    ENDC
    \1 [hl]
    call Second
ENDM

    begin
    ld hl, $C000
    probe rlc, $85, 0
    probe rlc, $00, 1
    probe rrc, $01, 0
    probe rl, $80, 0
    probe rl, $11, 1
    probe rr, $01, 0
    probe rr, $8A, 1
    probe sla, $FF, 0
    probe sra, $8A, 0
    probe sra, $01, 0
    probe srl, $FF, 0
    probe srl, $01, 0
    probe swap, $F1, 1
    probe swap, $00, 1

    ld a, $FF           ; BIT: H set, N clear, Z from the bit, C as it was
    or a
    ld e, $40
    bit 6, e
    call Flags
    ld [$C040], a       ; 20
    ld a, $FF
    or a
    bit 5, e
    call Flags
    ld [$C041], a       ; A0
    scf
    ld hl, $C050
    ld [hl], $08
    bit 3, [hl]
    call Flags
    ld [$C042], a       ; 30

    ld hl, $C050
    ld [hl], 0
    set 1, [hl]
    set 3, [hl]
    set 5, [hl]
    set 7, [hl]
    ld a, [hl]
    ld [$C043], a       ; AA
    ld [hl], $FF
    res 1, [hl]
    res 3, [hl]
    res 5, [hl]
    res 7, [hl]
    ld a, [hl]
    ld [$C044], a       ; 55
    ld b, $FF
    res 4, b
    res 5, b
    res 6, b
    res 7, b
    ld a, b
    ld [$C045], a       ; 0F
    ld c, 0
    set 4, c
    set 5, c
    set 6, c
    set 7, c
    ld a, c
    ld [$C046], a       ; F0
    ld bc, $00F0        ; no flag changes
    push bc
    pop af
    set 0, d
    res 0, d
    call Flags
    ld [$C047], a       ; F0
    done

; F in A.
Flags:
    push af
    pop bc
    ld a, c
    ret

; Keep F of the operation on E.
First:
    push af
    pop bc
    ld b, c
    ret

; Compare with the operation on [HL]: the same flags and the same result, else EE. Keep the flags.
Second:
    ld d, b
    push af
    pop bc
    ld a, c
    cp d
    jr nz, .bad
    ld a, [hl+]
    cp e
    jr nz, .bad
    ld [hl], c
    inc hl
    ret
.bad
    ld [hl], $EE
    inc hl
    ret
