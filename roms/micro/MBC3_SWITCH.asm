; SPDX-License-Identifier: MIT
; MBC3_SWITCH
; proves: an MBC3 maps the bank written to 2000..3FFF (seven bits) at 4000; 0 means 1.
; expect frames=5 [$C000]=01 01 02 05 07 03 00 [$C010]=FE FE FD FA F8 FC

INCLUDE "micro.inc"
HEADER "MBC3_SWITCH", MBC3

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
    ld hl, $C000
    bank $01, $2000
    bank $00, $2000     ; 0 becomes 1
    bank $02, $2FFF
    bank $05, $3FFF
    bank $07, $2100
    bank $83, $2000     ; seven bits count
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
