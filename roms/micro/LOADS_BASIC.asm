; SPDX-License-Identifier: MIT
; LOADS_BASIC
; proves: loads between registers, immediates, [BC], [DE], [HL], [HL+], [HL-], absolute addresses, high
;         memory by byte and by C, and the stack pointer.
; expect frames=5 [$C000]=11 22 33 44 55 66 77 [$C010]=81 82 81 5A 5A 01 02 02 01 16
; and    [$C020]=3C 3C 3D F0 DF F0 DF 34 12 34 12 [$FF90]=3C 3D
; and    A=$34 B=$12 C=$34 D=$12 E=$34 H=$12 L=$34 SP=$DFF0

INCLUDE "micro.inc"
HEADER "LOADS_BASIC", ROM

    begin
    ld a, $11
    ld b, $22
    ld c, $33
    ld d, $44
    ld e, $55
    ld h, $66
    ld l, $77
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
    ld a, l
    ld [$C006], a

    ld bc, $C010
    ld de, $C011
    ld a, $81
    ld [bc], a
    inc a
    ld [de], a
    ld a, [bc]
    ld [$C012], a
    ld hl, $C013
    ld [hl], $5A
    ld b, [hl]
    inc l
    ld [hl], b          ; C014

    ld hl, $C015
    ld a, 1
    ld [hl+], a         ; C015 = 1
    inc a
    ld [hl+], a         ; C016 = 2
    ld [hl-], a         ; C017 = 2, HL = C016
    ld a, [hl-]         ; 2, HL = C015
    ld a, [hl+]         ; 1, HL = C016
    ld [$C018], a
    ld a, l
    ld [$C019], a

    ld a, $3C
    ldh [$FF90], a
    xor a
    ldh a, [$FF90]
    ld [$C020], a
    ld c, $90
    xor a
    ldh a, [c]
    ld [$C021], a
    inc a
    inc c
    ldh [c], a          ; FF91
    xor a
    ld a, [$FF91]
    ld [$C022], a

    ld sp, $DFF0
    ld [$C023], sp
    ld hl, sp+0
    ld sp, $CFFE
    ld sp, hl
    ld [$C025], sp

    ld hl, $1234
    push hl
    pop bc
    ld d, b
    ld e, c
    ld a, e
    ld hl, $C027
    ld [hl], e
    inc hl
    ld [hl], d
    inc hl
    ld [hl], c
    inc hl
    ld [hl], b
    ld h, d
    ld l, e
    done
