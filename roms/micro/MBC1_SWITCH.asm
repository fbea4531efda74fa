; SPDX-License-Identifier: MIT
; MBC1_SWITCH
; proves: an MBC1 maps the bank written to 2000..3FFF at 4000; 0 means 1; numbers beyond the ROM wrap; the
;         first bank stays at 0000.
; expect frames=5 [$C000]=01 01 02 05 07 01 03 00 00 [$C010]=FE FE FD FA F8 FE FC FF

INCLUDE "micro.inc"
HEADER "MBC1_SWITCH", MBC1

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
    ld [$6000], a       ; mode 0
    ld [$4000], a       ; upper bits 0
    ld hl, $C000
    bank $01, $2000
    bank $00, $2000     ; 0 becomes 1
    bank $02, $2FFF
    bank $05, $3FFF
    bank $07, $2100
    bank $09, $2000     ; eight banks: 9 is 1
    bank $E3, $2000     ; five bits count
    bank $08, $2000     ; not 0, so not changed to 1, but there are only eight banks: 0
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
