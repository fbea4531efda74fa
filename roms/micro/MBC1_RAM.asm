; SPDX-License-Identifier: MIT
; MBC1_RAM
; proves: an MBC1 in mode 1 reaches four banks of RAM; in mode 0 only the first; switched off it
;         keeps what it had.
; expect frames=5 [$C000]=40 80 41 81 42 82 43 83 40 43

INCLUDE "micro.inc"
HEADER "MBC1_RAM", MBC1_RAM, 32

    begin
    ld a, $0A
    ld [$0000], a       ; RAM on
    ld a, 1
    ld [$6000], a       ; mode 1: banks of RAM
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
    ld [$6000], a       ; mode 0: bank 0, although 3 is selected
    ld a, [$A000]
    ld [hl+], a
    ld a, 1
    ld [$6000], a
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
