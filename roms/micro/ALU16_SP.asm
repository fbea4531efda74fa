; SPDX-License-Identifier: MIT
; ALU16_SP
; proves: ADD HL leaves Z alone and takes its flags from bits 11 and 15; ADD SP and LD HL,SP+e take theirs
;         from the low byte, unsigned; INC and DEC of pairs touch no flag and wrap.
; expect frames=5 [$C130]=00 00 F0 FF FF 50
; and    [$C100]=28 90 A0 46 14 B0 00 00 30 FF CF 00 FA C0 00
; and    [$C10F]=00 C1 30 FF BF 00 7F C0 10 F0 C0 30
; and    SP=$DFFE

INCLUDE "micro.inc"
HEADER "ALU16_SP", ROM

; Keep HL and F at DE.
MACRO keep
    call Keep
ENDM

; \1 + \2 by ADD HL,BC with Z set to \3 before.
MACRO add16
    ld hl, \1
    ld bc, \2
    ld a, 1 - \3
    or a
    add hl, bc
    keep
ENDM

    begin
    ld de, $C100
    add16 $8A23, $0605, 1
    ld hl, $8A23
    xor a
    add hl, hl
    keep
    add16 $FFFF, $0001, 0
    ld sp, $C000
    ld hl, $0FFF
    ld a, 1
    or a
    add hl, sp
    ld sp, $DFFE
    keep

    ld sp, $C0F8
    ld hl, sp+2
    ld sp, $DFFE
    keep
    ld sp, $C0F8
    ld hl, sp+8
    ld sp, $DFFE
    keep
    ld sp, $C000
    ld hl, sp-1
    ld sp, $DFFE
    keep
    ld sp, $C0FF
    add sp, -128
    ld [$C140], sp      ; flags stay while we fetch SP
    ld sp, $DFFE
    call KeepStored
    ld sp, $C0F8
    add sp, -8
    ld [$C140], sp
    ld sp, $DFFE
    call KeepStored

    ld bc, $F0F0        ; all flags set
    push bc
    pop af
    ld bc, $FFFF
    inc bc              ; 0000
    push af
    ld a, b
    ld [$C131], a
    ld a, c
    ld [$C130], a
    pop af
    push af
    pop hl
    ld a, l
    ld [$C132], a       ; flags as they were
    ld hl, $0000
    dec hl              ; FFFF
    ld a, l
    ld [$C133], a
    ld a, h
    ld [$C134], a
    ld bc, $0050        ; the low bits of F do not exist
    push bc
    pop af
    push af
    pop bc
    ld a, c
    ld [$C135], a
    done

KeepStored:
    push af
    ld a, [$C140]
    ld l, a
    ld a, [$C141]
    ld h, a
    pop af
Keep:
    push af
    ld a, l
    ld [de], a
    inc de
    ld a, h
    ld [de], a
    inc de
    pop bc
    ld a, c
    ld [de], a
    inc de
    ret
