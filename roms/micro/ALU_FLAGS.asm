; SPDX-License-Identifier: MIT
; ALU_FLAGS
; proves: results and all four flags of the 8-bit operations, DAA included: 44 pairs of A and F from C000.
; expect frames=5
; and    [$C000]=00 B0 10 20 00 B0 46 00 F1 20 00 B0 46 00 00 C0
; and    [$C010]=2F 60 FE 50 10 40 00 C0 EB 70 00 E0 3C 60 3C C0
; and    [$C020]=3C 50 18 20 00 A0 5B 00 00 80 F0 00 00 80 10 30
; and    [$C030]=00 A0 00 D0 0F 60 FF 60 0B 10 00 00 2B 10 00 10
; and    [$C040]=9D 10 40 10 80 00 CA 70 35 10 35 00 35 10 83 00
; and    [$C050]=00 90 70 10 07 40 90 50

INCLUDE "micro.inc"
HEADER "ALU_FLAGS", ROM

; probe A, B, carry, instruction: run it and keep A and F.
MACRO probe
    ld a, \1
    ld b, \2
    or a, $FF           ; clears N, H, C and Z, whatever came before
    ld a, \1
    IF \3
    scf
    ENDC
    \4
    call Keep
ENDM

DEF bcd_add EQUS "call AddDecimal"
DEF bcd_sub EQUS "call SubDecimal"

    begin
    ld hl, $C000
    probe $3A, $C6, 0, add b
    probe $0F, $01, 0, add b
    probe $FF, $01, 1, add b
    probe $12, $34, 0, add b
    probe $E1, $0F, 1, adc b
    probe $FF, $00, 1, adc b
    probe $12, $34, 0, adc b
    probe $3E, $3E, 0, sub b
    probe $3E, $0F, 0, sub b
    probe $3E, $40, 1, sub b
    probe $3B, $2A, 1, sbc b
    probe $3B, $3A, 1, sbc b
    probe $3B, $4F, 1, sbc b
    probe $10, $0F, 1, sbc b
    probe $3C, $2F, 0, cp b
    probe $3C, $3C, 0, cp b
    probe $3C, $40, 0, cp b
    probe $5A, $38, 1, and b
    probe $5A, $A5, 1, and b
    probe $5A, $03, 1, or b
    probe $00, $00, 1, or b
    probe $FF, $0F, 1, xor b
    probe $FF, $FF, 1, xor b
    probe $0F, $00, 1, inc a
    probe $FF, $00, 0, inc a
    probe $01, $00, 1, dec a
    probe $10, $00, 0, dec a
    probe $00, $00, 0, dec a
    probe $85, $00, 0, rlca
    probe $00, $00, 0, rlca
    probe $95, $00, 1, rla
    probe $80, $00, 0, rla
    probe $3B, $00, 0, rrca
    probe $81, $00, 0, rra
    probe $00, $00, 1, rra
    probe $35, $00, 1, cpl
    probe $35, $00, 1, scf
    probe $35, $00, 1, ccf
    probe $35, $00, 0, ccf
    probe $45, $38, 0, bcd_add
    probe $99, $01, 0, bcd_add
    probe $90, $80, 0, bcd_add
    probe $45, $38, 0, bcd_sub
    probe $10, $20, 0, bcd_sub
    done

Keep:
    push af
    pop de
    ld a, d
    ld [hl+], a
    ld a, e
    ld [hl+], a
    ret
AddDecimal:
    add b
    daa
    ret
SubDecimal:
    sub b
    daa
    ret
