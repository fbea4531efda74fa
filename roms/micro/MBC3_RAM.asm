; SPDX-License-Identifier: MIT
; MBC3_RAM
; proves: an MBC3 reaches four banks of RAM; switched off it keeps what it had.
; expect frames=5 [$C000]=40 80 41 81 42 82 43 83 43

INCLUDE "micro.inc"
HEADER "MBC3_RAM", MBC3_RAM, 32

    begin
    ld a, $0A
    ld [$0000], a       ; RAM on
    ld b, 0
.write                  ; A000 = $40 + bank, BFFF = $80 + bank
    ld a, b
    ld [$4000], a
    add $40
    ld [$A000], a
    add $40
    ld [$BFFF], a
    inc b
    ld a, b
    cp 4
    jr nz, .write

    ld hl, $C000
    ld b, 0
.read
    ld a, b
    ld [$4000], a
    ld a, [$A000]
    ld [hl+], a
    ld a, [$BFFF]
    ld [hl+], a
    inc b
    ld a, b
    cp 4
    jr nz, .read

    xor a
    ld [$0000], a       ; off
    ld a, $55
    ld [$A000], a       ; lost
    ld a, $0A
    ld [$0000], a
    ld a, [$A000]
    ld [hl+], a
    xor a
    ld [$0000], a
    done
