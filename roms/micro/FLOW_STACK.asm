; SPDX-License-Identifier: MIT
; FLOW_STACK
; proves: jumps, calls and returns with every condition, RST, JP HL, and what lies on the stack. Each
;         place that must be reached writes its number, those that must not write EE.
; expect frames=5 [$C000]=01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F 10 00 00
; and    [$C100]=34 12 CD AB [$C110]=10 SP=$DFFE

INCLUDE "micro.inc"
HEADER "FLOW_STACK", ROM

MACRO mark
    ld [hl], \1
    inc hl
ENDM
MACRO never
    ld [hl], $EE
    inc hl
ENDM

SECTION "rst28", ROM0[$0028]
    mark 12
    ret

    begin
    fill $C000, 32, 0
    ld hl, $C000
    jp .a
    never
.b
    mark 2
    xor a               ; Z
    jr z, .c
    never
.a
    mark 1
    jr .b
.c
    mark 3
    jr nz, .bad
    mark 4
    jp nz, .bad
    mark 5
    scf
    jr nc, .bad
    mark 6
    jp c, .d
    never
.d
    call c, Carry       ; 7
    call nc, Bad
    mark 8
    or $FF              ; NZ, NC
    call z, Bad
    call nz, NotZero    ; 9
    jp nc, .e
    never
.e
    mark 10
    ld bc, .f
    push bc
    ret                 ; a jump through the stack
    never
.f
    mark 11
    rst $28             ; 12
    push hl
    ld hl, .g
    jp hl
    never
.g
    pop hl
    mark 13

    ld bc, $ABCD        ; the low byte lies lower
    push bc
    ld bc, $1234
    push bc
    push hl
    ld hl, sp+2
    ld de, $C100
    ld b, 4
.copy
    ld a, [hl+]
    ld [de], a
    inc de
    dec b
    jr nz, .copy
    pop hl
    pop bc
    pop bc
    mark 14

    ld b, 5             ; DJNZ has to be spelled out
    ld c, 0
.sum
    inc c
    dec b
    jr nz, .sum
    ld a, c
    cp 5
    jp nz, .bad
    mark 15
    call Deep           ; calls itself 16 times
    mark 16
    done
.bad
    never
    done

Carry:
    mark 7
    ret c
    never
    ret
NotZero:
    mark 9
    ret z
    ret nz
    never
    ret
Bad:
    never
    ret
Deep:
    ld a, [$C110]
    inc a
    ld [$C110], a
    cp 16
    ret z
    call Deep
    ret
