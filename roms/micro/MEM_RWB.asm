; SPDX-License-Identifier: MIT
; MEM_RWB
; proves: reads, writes and bit operations over C000..C0FF, for ever, with a new pattern each round.
;         C100 keeps the first round's sum, C101 counts bytes that read back wrong.
; expect frames=20 [$C100]=80 00 SP=$DFFE

INCLUDE "micro.inc"
HEADER "MEM_RWB", ROM

    begin               ; C: the round, D: errors
.round
    ld hl, $C000
.write                  ; [HL] = L xor C
    ld a, l
    xor c
    ld [hl], a
    inc l
    jr nz, .write

    ld e, 0
.check
    ld a, l
    xor c
    cp [hl]
    jr z, .good
    inc d
.good
    set 0, [hl]
    res 7, [hl]
    swap [hl]
    ld a, [hl]
    add e
    ld e, a
    inc l
    jr nz, .check

    ld a, d
    ld [$C101], a
    ld a, c
    or a
    jr nz, .next
    ld a, e             ; the sum of swap((L | $01) & $7F), 256 times
    ld [$C100], a
.next
    inc c
    jr .round
