; SPDX-License-Identifier: MIT
; MBC5_SWITCH
; proves: an MBC5 takes the bank's low eight bits at 2000..2FFF and the ninth at 3000..3FFF; 0 is really
;         bank 0; numbers beyond the ROM wrap.
; expect frames=5 [$C000]=01 00 02 05 07 03 03 06 00 [$C010]=FE FF FD FA F8 FC FC F9

INCLUDE "micro.inc"
HEADER "MBC5_SWITCH", MBC5

; Select bank \1 and keep the two bytes found.
MACRO bank
    ld a, \1
    ld [\2], a
    ld a, [$4000]
    ld [hl], a
    ld a, l
    or $10
    ld e, a
    ld d, h
    ld a, [$4001]
    ld [de], a
    inc l
ENDM

    begin
    xor a
    ld [$3000], a
    ld hl, $C000
    bank $01, $2000
    bank $00, $2000     ; bank 0 at 4000
    bank $02, $2FFF
    bank $05, $2000
    bank $07, $2100
    bank $03, $2000
    bank $01, $3000     ; bank 259: 3 of eight
    bank $FE, $2000     ; bank 510: 6
    xor a
    ld [$3000], a
    ld a, [$0000]
    ld [hl], a
    ld a, 1
    ld [$2000], a
    done

; Each bank begins with its number and the number's complement.
SECTION "bank 0 mark", ROM0[$0000]
    db $00, $FF
SECTION "bank 1", ROMX[$4000], BANK[1]
    db $01, $FE
SECTION "bank 2", ROMX[$4000], BANK[2]
    db $02, $FD
SECTION "bank 3", ROMX[$4000], BANK[3]
    db $03, $FC
SECTION "bank 4", ROMX[$4000], BANK[4]
    db $04, $FB
SECTION "bank 5", ROMX[$4000], BANK[5]
    db $05, $FA
SECTION "bank 6", ROMX[$4000], BANK[6]
    db $06, $F9
SECTION "bank 7", ROMX[$4000], BANK[7]
    db $07, $F8
