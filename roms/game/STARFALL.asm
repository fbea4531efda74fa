; SPDX-License-Identifier: MIT
; STARFALL
; proves: a whole game: VBlank interrupt and HALT, OAM DMA from HRAM, joypad, sprites and background, sound,
;         a random generator that depends on when START is pressed. docs/games.md has the memory map.
; expect frames=88 [$C000]=00 frame=41919b136bd18d2d
; expect frames=120 keys=88*NONE,4*START,NONE [$C000]=01 00 00 03 44 00
; expect frames=3000 keys=88*NONE,4*START,NONE [$C000]=02 [$C003]=00
;
; Stars fall out of the night sky; catch them in the basket with LEFT and RIGHT (A: faster). A star on the
; ground costs a life, and so does an ember in the basket. It gets faster.

INCLUDE "hardware.inc"
HEADER "STARFALL", ROM

; ---- what can be tuned ----

DEF LIVES          EQU 3
DEF CATCHER_WIDTH  EQU 24
DEF CATCHER_Y      EQU 120
DEF CATCHER_MAX    EQU 160 - CATCHER_WIDTH
DEF CATCHER_START  EQU CATCHER_MAX / 2
DEF STAR_MAX       EQU 160 - 8
DEF STAR_TOP       EQU 16            ; where things appear
DEF CATCH_Y        EQU CATCHER_Y - 8 ; the basket's rim reaches a star's lower edge
DEF GROUND_Y       EQU 128
DEF STARS_A_LEVEL  EQU 8
DEF LEVEL_MAX      EQU 24
DEF EMBER_LEVEL    EQU 2             ; no embers before this level
DEF SPEED_FIRST    EQU $00C0         ; pixels per frame, 8.8
DEF SPEED_STEP     EQU $0018
DEF SPAWN_FIRST    EQU 72            ; frames between two things, 2 less with each level
DEF OBJECTS        EQU 4
DEF SEED           EQU $ACE1

DEF STATE_TITLE EQU 0
DEF STATE_PLAY  EQU 1
DEF STATE_OVER  EQU 2

DEF EVENT_NONE   EQU 0
DEF EVENT_CAUGHT EQU 1
DEF EVENT_MISSED EQU 2
DEF EVENT_BURNT  EQU 3

DEF KEY_RIGHT EQU 0 ; bits of wKeys
DEF KEY_LEFT  EQU 1
DEF KEY_A     EQU 4
DEF KEY_START EQU 7

; ---- memory: docs/games.md repeats this list ----

SECTION "variables", WRAM0[$C000]
wState:      db ; C000 STATE_...
wScore:      dw ; C001 stars caught, low byte first
wLives:      db ; C003
wCatcherX:   db ; C004 left edge
wLevel:      db ; C005
wEvent:      db ; C006 EVENT_..., of this frame alone
wFrame:      dw ; C007 VBlanks since power-on
wRandom:     dw ; C009
wKeys:       db ; C00B held now
wKeysNew:    db ; C00C pressed in this frame
wBest:       dw ; C00D
wScoreShown: dw ; C00F the score's four decimal digits, high byte first
wBestShown:  dw ; C011
wSpeed:      dw ; C013 pixels per frame, 8.8
wSpawnTimer: db ; C015 frames to the next one
wToNext:     db ; C016 stars to the next level
wLastX:      db ; C017 where the last one appeared
wVBlank:     db ; C018 set by the interrupt
wHudDirty:   db ; C019 the top line has to be written
wSparkTime:  db ; C01A
wSparkX:     db ; C01B
wLevelShown: db ; C01C the level, decimal
SECTION "objects", WRAM0[$C020]
wObjects:    ds OBJECTS * 4 ; C020 kind (0 none, 1 star, 2 ember), x, y, y's fraction
wObjectsEnd:
SECTION "sprites", WRAM0[$C100]
wSprites:    ds 160

; ---- entry ----

SECTION "vblank", ROM0[$0040]
    jp VBlank

SECTION "entry", ROM0[$0100]
    nop
    jp Start

SECTION "code", ROM0[$0150]
Start:
    di
    ld sp, $DFFE
    call ScreenOff
    xor a
    ldh [rIF], a
    ldh [rSCX], a
    ldh [rSCY], a
    ldh [rSTAT], a
    ld hl, $C000            ; variables and sprites
    ld bc, $0200
    call Clear
    ld hl, $8000
    ld bc, $2000
    call Clear
    ld hl, Tiles
    ld de, $8000
    ld bc, Tiles.end - Tiles
    call Copy
    ld hl, SpriteTiles
    ld de, $8000 + TILE_SPRITE * 16
    ld bc, SpriteTiles.end - SpriteTiles
    call Copy
    ld hl, DmaRoutine
    ld de, hDma
    ld bc, DmaRoutineEnd - DmaRoutine
    call Copy
    ld a, %11100100
    ldh [rBGP], a
    ldh [rOBP1], a
    ld a, %11010000         ; sprites: 1 white, 2 light, 3 black
    ldh [rOBP0], a
    ld a, $80               ; sound on
    ldh [rNR52], a
    ld a, $77
    ldh [rNR50], a
    ld a, $FF
    ldh [rNR51], a
    call ShowTitle
    ld a, INT_VBLANK
    ldh [rIE], a
    ei

; Once per frame: sleep until VBlank, then think. What was thought is shown in the next VBlank.
MainLoop:
    halt
    nop
    ld a, [wVBlank]
    or a
    jr z, MainLoop
    xor a
    ld [wVBlank], a
    ld [wEvent], a
    call ReadKeys
    ld a, [wState]
    cp STATE_PLAY
    jr z, .play
    ld a, [wKeysNew]
    bit KEY_START, a
    jr z, MainLoop
    ld a, [wState]
    cp STATE_TITLE
    jr z, .begin
    call ShowTitle
    jr MainLoop
.begin
    call BeginGame
    jr MainLoop
.play
    call MoveCatcher
    call Spawn
    call MoveObjects
    call DrawSprites
    jr MainLoop

; ---- screens ----

ShowTitle:
    call ScreenOff
    ld hl, TitleMap
    call DrawMap
    ld hl, TextBest
    ld de, $9800 + 11 * 32 + 5
    call Print
    ld hl, wBestShown
    ld de, $9800 + 11 * 32 + 10
    call PrintDigits
    ld a, STATE_TITLE
    ld [wState], a
    call HideSprites
    ld a, CATCHER_START     ; a basket and a star, for the looks
    ld [wCatcherX], a
    call DrawCatcher
    ld hl, wSprites + 3 * 4
    ld a, 102 + 16
    ld [hl+], a
    ld a, 76 + 8
    ld [hl+], a
    ld a, TILE_SPRITE + 6
    ld [hl], a
    jp ScreenOn

BeginGame:
    ld a, [wFrame]          ; the moment of START decides what falls
    xor LOW(SEED)
    ld [wRandom], a
    ld a, [wFrame + 1]
    xor HIGH(SEED)
    ld [wRandom + 1], a
    ld hl, wRandom
    or [hl]
    jr nz, .seeded
    inc [hl]                ; the generator must not be 0
.seeded
    call ScreenOff
    ld hl, PlayMap
    call DrawMap
    ld hl, TextTop
    ld de, $9800
    call Print
    call HideSprites
    ld hl, wObjects
    ld bc, wObjectsEnd - wObjects
    call Clear
    xor a
    ld [wScore], a
    ld [wScore + 1], a
    ld [wScoreShown], a
    ld [wScoreShown + 1], a
    ld [wLevel], a
    ld [wLevelShown], a
    ld [wSparkTime], a
    ld a, LIVES
    ld [wLives], a
    ld a, STARS_A_LEVEL
    ld [wToNext], a
    ld a, LOW(SPEED_FIRST)
    ld [wSpeed], a
    ld a, HIGH(SPEED_FIRST)
    ld [wSpeed + 1], a
    ld a, 30
    ld [wSpawnTimer], a
    ld a, STAR_MAX / 2
    ld [wLastX], a
    ld a, CATCHER_START
    ld [wCatcherX], a
    ld a, 1
    ld [wHudDirty], a
    ld a, STATE_PLAY
    ld [wState], a
    call DrawSprites
    jp ScreenOn

EndGame:
    ld a, STATE_OVER
    ld [wState], a
    jp KeepBest

; ---- the catcher ----

MoveCatcher:
    ld a, [wKeys]
    ld b, a
    ld c, 2                 ; pixels per frame
    bit KEY_A, b
    jr z, .walk
    inc c
.walk
    ld a, [wCatcherX]
    bit KEY_LEFT, b
    jr z, .notLeft
    sub c
    jr nc, .notLeft
    xor a
.notLeft
    bit KEY_RIGHT, b
    jr z, .notRight
    add c
    cp CATCHER_MAX
    jr c, .notRight
    ld a, CATCHER_MAX
.notRight
    ld [wCatcherX], a
    ret

; ---- things that fall ----

; Count down; then put a star or an ember into a free place, not too far from the last one.
Spawn:
    ld hl, wSpawnTimer
    dec [hl]
    ret nz
    ld a, [wLevel]          ; SPAWN_FIRST - 2 * level
    add a
    cpl
    add SPAWN_FIRST + 1
    ld [hl], a
    ld hl, wObjects
    ld b, OBJECTS
.find
    ld a, [hl]
    or a
    jr z, .free
    inc hl
    inc hl
    inc hl
    inc hl
    dec b
    jr nz, .find
    ret
.free
    ld c, 1                 ; a star
    ld a, [wLevel]
    cp EMBER_LEVEL
    jr c, .star
    call Random
    and 7
    jr nz, .star
    inc c                   ; an ember, one in eight
.star
    ld [hl], c
    inc hl
    push hl
    call RandomX
    pop hl
    ld [hl+], a
    ld [hl], STAR_TOP
    inc hl
    ld [hl], 0
    ret

; A column 0..STAR_MAX in A, at most 64 from the last one, bouncing off the edges.
RandomX:
    call Random
    and $7F
    sub 64
    ld b, a                 ; -64..63
    ld a, [wLastX]
    bit 7, b
    jr z, .right
    add b
    jr c, .keep             ; did not go below 0
    cpl
    inc a
    jr .keep
.right
    add b
    cp STAR_MAX + 1
    jr c, .keep
    cpl
    add LOW(2 * STAR_MAX + 1)
.keep
    ld [wLastX], a
    ret

MoveObjects:
    ld hl, wObjects
    ld b, OBJECTS
.next
    push bc
    push hl
    ld a, [hl]
    or a
    call nz, MoveObject
    pop hl
    pop bc
    ld de, 4
    add hl, de
    dec b
    jr nz, .next
    ret

; HL: the object
MoveObject:
    ld b, a                 ; kind
    inc hl
    ld c, [hl]              ; x
    inc hl
    inc hl
    ld a, [wSpeed]          ; y += speed, the fraction first
    add [hl]
    ld [hl-], a
    ld a, [wSpeed + 1]
    adc [hl]
    ld [hl], a
    cp CATCH_Y
    ret c
    ld d, a                 ; y
    ld a, [wCatcherX]       ; is its middle over the basket?
    ld e, a
    ld a, c
    add 4
    sub e
    cp CATCHER_WIDTH
    jr c, .caught
    ld a, d
    cp GROUND_Y
    ret c
    dec hl                  ; on the ground
    dec hl
    ld [hl], 0
    ld a, b
    cp 1
    ret nz                  ; an ember goes out
    ld a, EVENT_MISSED
    jp LoseLife
.caught
    dec hl
    dec hl
    ld [hl], 0
    ld a, b
    cp 1
    jr z, .star
    ld a, EVENT_BURNT
    jp LoseLife
.star
    ld a, EVENT_CAUGHT
    ld [wEvent], a
    ld a, c
    ld [wSparkX], a
    ld a, 16
    ld [wSparkTime], a
    ; fall through

AddPoint:
    call CountPoint
    ld a, 1
    ld [wHudDirty], a
    call SoundCatch
    ld hl, wToNext
    dec [hl]
    ret nz
    ld [hl], STARS_A_LEVEL
    ld a, [wLevel]
    cp LEVEL_MAX
    ret z
    inc a
    ld [wLevel], a
    ld a, [wLevelShown]
    add 1
    daa
    ld [wLevelShown], a
    ld hl, wSpeed
    ld a, [hl]
    add LOW(SPEED_STEP)
    ld [hl+], a
    ld a, [hl]
    adc HIGH(SPEED_STEP)
    ld [hl], a
    ret

; A: the event
LoseLife:
    ld [wEvent], a
    ld a, 1
    ld [wHudDirty], a
    call SoundMiss
    ld hl, wLives
    ld a, [hl]
    or a
    ret z                   ; two in the same frame
    dec [hl]
    ret nz
    jp EndGame

; ---- sprites ----

DrawSprites:
    call DrawCatcher
    ld hl, wObjects
    ld de, wSprites + 3 * 4
    ld b, OBJECTS
.object
    ld a, [hl+]
    ld c, a                 ; kind
    or a
    jr nz, .shown
    ld [de], a              ; line 0: not seen
    inc hl
    inc hl
    inc hl
    inc e
    inc e
    inc e
    inc e
    jr .next
.shown
    inc hl
    ld a, [hl-]             ; y
    add 16
    ld [de], a
    inc e
    ld a, [hl+]             ; x
    add 8
    ld [de], a
    inc e
    inc hl
    inc hl
    push hl
    ld a, [wFrame]          ; two pictures each, changing every 8 frames
    and 8
    rrca
    rrca
    ld h, a
    ld a, c
    add a
    add a                   ; star 4, ember 8
    add TILE_SPRITE + 6 - 4
    add h
    ld [de], a
    inc e
    pop hl
    xor a
    dec c
    jr z, .light
    ld a, OBJ_PAL1
.light
    ld [de], a
    inc e
.next
    dec b
    jr nz, .object

    ld a, [wSparkTime]      ; DE: the sparks' sprite
    or a
    ld [de], a
    ret z
    ld hl, wSparkTime
    dec [hl]
    ld h, d
    ld l, e
    ld c, TILE_SPRITE + 14
    cp 9
    jr nc, .near
    ld c, TILE_SPRITE + 16
.near
    ld [hl], CATCHER_Y - 8 + 16
    inc l
    ld a, [wSparkX]
    add 8
    ld [hl+], a
    ld [hl], c
    ret

DrawCatcher:
    ld hl, wSprites
    ld a, [wCatcherX]
    add 8
    ld b, a
    ld c, TILE_SPRITE
    ld d, 3
.part
    ld a, CATCHER_Y + 16
    ld [hl+], a
    ld a, b
    ld [hl+], a
    add 8
    ld b, a
    ld a, c
    ld [hl+], a
    add 2
    ld c, a
    xor a
    ld [hl+], a
    dec d
    jr nz, .part
    ret

HideSprites:
    ld hl, wSprites
    ld bc, 160
    jr Clear                ; in game.inc, which comes next

INCLUDE "game.inc"

; ---- drawing while the display is off ----

ScreenOn:
    ld a, LCDC_ON | LCDC_TILES_80 | LCDC_OBJ_16 | LCDC_OBJ_ON | LCDC_BG_ON
    ldh [rLCDC], a
    ret

; HL: 18 rows of 20 tiles
DrawMap:
    ld de, $9800
    ld b, 18
.row
    ld c, 20
.tile
    ld a, [hl+]
    ld [de], a
    inc de
    dec c
    jr nz, .tile
    ld a, e
    add 12
    ld e, a
    jr nc, .same
    inc d
.same
    dec b
    jr nz, .row
    ret

; ---- the interrupt ----

VBlank:
    push af
    push bc
    push de
    push hl
    call hDma
    ld a, [wHudDirty]
    or a
    call nz, DrawTop
    ld a, [wState]
    cp STATE_PLAY
    call nz, DrawPrompt
    ld hl, wFrame
    inc [hl]
    jr nz, .low
    inc hl
    inc [hl]
.low
    ld a, 1
    ld [wVBlank], a
    pop hl
    pop de
    pop bc
    pop af
    reti

; Score, level and lives.
DrawTop:
    xor a
    ld [wHudDirty], a
    ld hl, wScoreShown
    ld de, $9800 + 6
    call PrintDigits
    ld a, [wLevelShown]
    ld de, $9800 + 14
    call PrintByte
    ld a, [wLives]
    ld b, a
    ld hl, $9800 + 17
    ld c, LIVES
.heart
    ld a, b
    or a
    jr z, .none
    dec b
    ld a, TILE_HEART
.none
    ld [hl+], a
    dec c
    jr nz, .heart
    ret

; PRESS START blinks; after a game GAME OVER stands above it.
DrawPrompt:
    cp STATE_OVER
    jr nz, .title
    ld hl, TextOver
    ld de, $9800 + 7 * 32 + 4
    call Print
.title
    ld hl, TextStart
    ld a, [wFrame]
    and 32
    jr z, .lit
    ld hl, TextDark
.lit
    ld de, $9800 + 9 * 32 + 4
    jp Print

; ---- sound ----

SoundCatch:
    ld a, $15               ; upwards
    ldh [rNR10], a
    ld a, $81
    ldh [rNR11], a
    ld a, $A1
    ldh [rNR12], a
    ld a, $00
    ldh [rNR13], a
    ld a, $86
    ldh [rNR14], a
    ret

SoundMiss:
    ld a, $20
    ldh [rNR41], a
    ld a, $C2
    ldh [rNR42], a
    ld a, $64
    ldh [rNR43], a
    ld a, $80
    ldh [rNR44], a
    ret

; ---- pictures and texts ----

SECTION "art", ROM0
INCLUDE "starfall_art.inc"

TextTop:   db "SCORE 0000  LV00 ***", $FF
TextBest:  db "BEST ", $FF
TextStart: db "PRESS START", $FF
TextDark:  db "           ", $FF
TextOver:  db " GAME OVER ", $FF
