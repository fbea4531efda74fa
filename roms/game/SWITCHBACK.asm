; SPDX-License-Identifier: MIT
; SWITCHBACK
; proves: a game with an interrupt in each line of a road: HBlank sets scroll and palette, LYC starts and wakes,
;         a window, tracks in switched banks of an MBC5, a best score in cartridge RAM. docs/games.md has the
;         memory map.
; expect frames=88 [$C000]=00 frame=dd163469ed7e23ea
; expect frames=400 keys=88*NONE,4*START,NONE [$C000]=01 frame=6fca8ed9efe76ca1
; expect frames=4000 keys=88*NONE,4*START,NONE [$C000]=02 [$C003]=00
;
; A mountain road with traffic. The car goes by itself; LEFT and RIGHT steer, B brakes. Bends push it outwards. A
; car overtaken is a point; touching one, or the rocks beside the road, costs one of three cars.
;
; A picture: the sky; from line 56 on the road, 72 lines, each with a scroll and a palette of its own; the window
; with the score from line 128 on. The road in the map is straight. While a picture is shown, the tables of the
; next one are computed.

INCLUDE "hardware.inc"
INCLUDE "wait.inc"
HEADER "SWITCHBACK", MBC5_RAM_BATTERY, 8

; ---- what can be tuned ----

DEF LIVES        EQU 3
DEF CARS         EQU 3   ; of the traffic
DEF SPEED_TOP    EQU 192 ; 1/64 units of depth a frame
DEF SPEED_GRASS  EQU 64
DEF STEER        EQU $0180 ; pixels a frame, 8.8
DEF STEER_SLOW   EQU $00C0
DEF EDGE_GRASS   EQU 56  ; pixels from the road's middle
DEF EDGE_ROCKS   EQU 72
DEF TOUCH        EQU 18  ; pixels between the middles of two cars
DEF TOUCH_DEPTH  EQU 6
DEF PAUSE        EQU 60  ; frames after a crash
DEF SEED         EQU $3C91

; See WARREN: the display is switched on when a whole number of frames has passed.
DEF PAD_OFF EQU 27305
DEF PAD_ON  EQU 10895

DEF ROAD_FIRST EQU 56 ; line
DEF ROAD_LINES EQU 72
DEF MIDDLE     EQU 80 ; column
DEF SCROLL     EQU 48 ; with which the map's road, whose middle is column 128, is in the middle

DEF STATE_TITLE EQU 0
DEF STATE_PLAY  EQU 1
DEF STATE_OVER  EQU 2

DEF EVENT_NONE     EQU 0
DEF EVENT_OVERTOOK EQU 1
DEF EVENT_CRASH    EQU 2
DEF EVENT_STAGE    EQU 3

DEF KEY_RIGHT EQU 0 ; bits of wKeys
DEF KEY_LEFT  EQU 1
DEF KEY_B     EQU 5
DEF KEY_START EQU 7

DEF STAT_HBLANK EQU $08
DEF STAT_LYC    EQU $40

; Colours of the road's tiles: 0 asphalt, 1 grass, 2 kerb, 3 marks; two palettes take turns with depth.
DEF PALETTE_SKY   EQU %11100100
DEF PALETTE_LIGHT EQU %10110100
DEF PALETTE_DARK  EQU %00011000

DEF TILE_GRASS  EQU 1
DEF TILE_FONT   EQU 16
DEF TILE_HEART  EQU 54
DEF TILE_BAR    EQU 55
DEF TILE_CAR    EQU 64 ; ours: three columns of 8 x 16
DEF TILE_NEAR   EQU 70 ; the others: three columns, two, one
DEF TILE_MIDDLE EQU 76
DEF TILE_FAR    EQU 80
DEF TILE_ROAD   EQU 96 ; 16 tiles of each of nine rows

; ---- memory: docs/games.md repeats this list ----

SECTION "variables", WRAM0[$C000]
wState:      db ; C000 STATE_...
wScore:      dw ; C001 cars overtaken, low byte first
wLives:      db ; C003
wStage:      db ; C004 stages driven to their end
wSpeed:      db ; C005 1/64 units of depth a frame
wEvent:      db ; C006 EVENT_..., of this frame alone
wFrame:      dw ; C007 frames since power-on
wRandom:     dw ; C009
wKeys:       db ; C00B held now
wKeysNew:    db ; C00C pressed in this frame
wBest:       dw ; C00D
wScoreShown: dw ; C00F the score's four decimal digits, high byte first
wBestShown:  dw ; C011
wX:          dw ; C013 pixels from the road's middle, 8.8, signed
wCurve:      db ; C015 of the road now, signed; to the right is positive
wCurveNext:  db ; C016 of this part of the track; wCurve goes there
wPart:       db ; C017 16 units until the next part
wTrack:      dw ; C018 where the next part is described
wPosition:   dw ; C01A units of depth, 8.8
wTraffic:    db ; C01C speed of the other cars
wPause:      db ; C01D
wGo:         db ; C01E set by the interrupt in line 1
wSky:        db ; C01F how far the sky has turned
SECTION "cars", WRAM0[$C020]
wCars:       ds CARS * 4 ; C020 depth, 8.8; lane 0 to 2; column on the screen
wCarsEnd:
SECTION "what is shown", WRAM0[$C040]
wHud:        ds 40 ; two rows of the window
wSkyline:    ds 32 ; row 6 of the map
wSkyDirty:   db
wReady:      db ; page of the table that is complete
SECTION "sprites", WRAM0[$C100]
wSprites:    ds 160
SECTION "tables", WRAM0[$C200]
wTables:     ds 512 ; two: for each line of the road and the one below, scroll and palette

SECTION "fast variables", HRAM[$FF90]
hPhase:   db ; of the STAT interrupt: 0 waits for line 1, 1 for line 55, 2 is in the road
hPointer: db ; into the table, low byte
hPage:    db ; high byte
hCurve:   dw ; wCurve as a word

SECTION "battery", SRAM[$A000]
sMagic:     dw
sBest:      dw
sBestShown: dw
DEF MAGIC EQU $D15B

; ---- interrupts ----

SECTION "vblank", ROM0[$0040]
    jp VBlank

; The road's lines need it within 40 M-cycles, so they come first.
SECTION "stat", ROM0[$0048]
Stat:
    push af
    push hl
    ldh a, [hPhase]
    cp 2
    jr nz, .wait
    ldh a, [hPointer]
    ld l, a
    ldh a, [hPage]
    ld h, a
    ld a, [hl+]
    ldh [rSCX], a
    ld a, [hl+]
    ldh [rBGP], a
    ld a, l
    ldh [hPointer], a
    cp (ROAD_LINES + 1) * 2
    jr z, .below
.done
    pop hl
    pop af
    reti
.below                      ; the next is line 1 of the next picture
    ld a, 1
    ldh [rLYC], a
    ld a, STAT_LYC
    ldh [rSTAT], a          ; a write may ask for an interrupt on a DMG: forget it
    xor a
    ldh [hPhase], a
    ldh a, [rIF]
    res 1, a
    ldh [rIF], a
    jr .done
.wait
    or a
    jr nz, .road
    inc a                   ; line 1: now one may think
    ldh [hPhase], a
    ld [wGo], a
    ld a, ROAD_FIRST - 1
    ldh [rLYC], a
    jr .done
.road                       ; line 55: from its end on, each line
    inc a
    ldh [hPhase], a
    xor a
    ldh [hPointer], a
    ld a, STAT_HBLANK
    ldh [rSTAT], a
    jr .done

SECTION "entry", ROM0[$0100]
    nop
    jp Start

SECTION "code", ROM0[$0150]
Start:
    di
    ld sp, $DFFE
    ldh a, [rLCDC]
    push af
    call ScreenOff
    xor a
    ldh [rIE], a
    ldh [rIF], a
    ldh [rSCY], a
    ldh [rSTAT], a
    ldh [rNR52], a
    ld hl, $C000
    ld bc, $0400
    call Clear
    ld hl, $8000
    ld bc, $2000
    call Clear
    ld hl, Tiles
    ld de, $8000
    ld bc, Tiles.end - Tiles
    call Copy
    ld hl, Letters
    ld de, $8000 + TILE_FONT * 16
    ld bc, Letters.end - Letters
    call Copy
    ld hl, MoreTiles
    ld de, $8000 + TILE_HEART * 16
    ld bc, MoreTiles.end - MoreTiles
    call Copy
    ld hl, SpriteTiles
    ld de, $8000 + TILE_CAR * 16
    ld bc, SpriteTiles.end - SpriteTiles
    call Copy
    ld hl, DmaRoutine
    ld de, hDma
    ld bc, DmaRoutineEnd - DmaRoutine
    call Copy
    call DrawRoad
    ld hl, $9C00            ; the window
    ld b, 32
.window
    ld a, TILE_FONT + 37    ; a space
    ld [hl+], a
    dec b
    jr nz, .window
    ld a, PALETTE_SKY
    ldh [rBGP], a
    ldh [rOBP0], a
    ld a, 128
    ldh [rWY], a
    ld a, 7
    ldh [rWX], a
    call LoadBest
    ld a, HIGH(wTables)
    ldh [hPage], a
    ld [wReady], a
    call EnterTitle
    call Show
    ld a, 1
    ldh [rLYC], a
    ld a, STAT_LYC
    ldh [rSTAT], a
    xor a
    ldh [rIF], a
    ldh [hPhase], a
    ld a, INT_VBLANK | INT_STAT
    ldh [rIE], a
    pop af
    add a
    jr c, .wasOn
    WAIT PAD_OFF
    jr .on
.wasOn
    WAIT PAD_ON
.on
    ld a, LCDC_ON | LCDC_WIN_9C00 | LCDC_WIN_ON | LCDC_TILES_80 | LCDC_OBJ_16 | LCDC_OBJ_ON | LCDC_BG_ON
    ldh [rLCDC], a
    ei

; Once per frame: sleep until line 1, then think. What was thought is shown from the next VBlank on.
MainLoop:
    halt
    nop
    ld a, [wGo]
    or a
    jr z, MainLoop
    xor a
    ld [wGo], a
    ld [wEvent], a
    ld hl, wFrame
    inc [hl]
    jr nz, .low
    inc hl
    inc [hl]
.low
    call ReadKeys
    call Think
    call Show
    jr MainLoop

Think:
    ld a, [wState]
    cp STATE_PLAY
    jp z, Play
    ld a, [wFrame]          ; a text that comes and goes
    and 32
    ld hl, TextDark
    jr nz, .text
    ld hl, TextStart
    ld a, [wState]
    or a
    jr z, .text
    ld hl, TextOver
.text
    ld de, wHud + 20
    call Print
    ld a, [wKeysNew]
    bit KEY_START, a
    ret z
    ld a, [wState]
    or a
    jr z, Begin
    ; fall through

EnterTitle:
    xor a
    ld [wState], a
    ld [wSpeed], a
    ld [wX], a
    ld [wX + 1], a
    ld [wCurve], a
    ld hl, wCars
    ld bc, wCarsEnd - wCars
    call Clear
    ld hl, wHud
    ld b, 40
.dark
    ld a, TILE_FONT + 37
    ld [hl+], a
    dec b
    jr nz, .dark
    ld hl, TextTitle
    ld de, wHud
    call Print
    ld hl, wBestShown
    ld de, wHud + 16
    call PrintDigits
    ld a, 1
    jp SelectBank

Begin:
    ld a, [wFrame]          ; the moment of START decides the traffic
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
    xor a
    ld [wScore], a
    ld [wScore + 1], a
    ld [wScoreShown], a
    ld [wScoreShown + 1], a
    ld [wStage], a
    ld a, LIVES
    ld [wLives], a
    ld hl, TextTop
    ld de, wHud
    call Print
    ld hl, wBestShown
    ld de, wHud + 16
    call PrintDigits
    call BeginStage
    ld a, STATE_PLAY
    ld [wState], a
    ; fall through

; To the middle of the road, at rest, and the traffic far away.
PlaceCars:
    xor a
    ld [wX], a
    ld [wX + 1], a
    ld [wSpeed], a
    ld a, PAUSE
    ld [wPause], a
    ld hl, wCars
    ld c, 85
.car
    xor a
    ld [hl+], a
    ld a, c
    add 85
    ld c, a
    dec a
    ld [hl+], a
    push bc
    call RandomLane
    pop bc
    ld [hl+], a
    inc hl
    ld a, l
    cp LOW(wCarsEnd)
    jr nz, .car
    ret

; 0, 1 or 2 in A, the middle twice as often. Changes DE.
RandomLane:
    call Random
    and 3
    cp 3
    ret nz
    ld a, 1
    ret

; A: 1 to 4
SelectBank:
    ld [$2000], a
    xor a
    ld [$3000], a
    ld hl, Stage            ; the same place in each bank
    ld a, [hl+]
    ld [wTraffic], a
    push hl
    ld de, 8
    add hl, de
    ld de, wSkyline
    ld bc, 32
    call Copy
    ld a, l
    ld [wTrack], a
    ld a, h
    ld [wTrack + 1], a
    ld a, 1
    ld [wSkyDirty], a
    pop hl
    ret

BeginStage:
    ld a, [wStage]
    and 3
    inc a
    call SelectBank
    ld de, wHud + 20        ; its name
    ld bc, 8
    call Copy
    ld b, 4
.rest
    ld a, TILE_FONT + 37
    ld [de], a
    inc de
    dec b
    jr nz, .rest
    ; fall through

; The next part of the track: length, curve. Length 0 ends the stage.
NextPart:
    ld hl, wTrack
    ld a, [hl+]
    ld h, [hl]
    ld l, a
    ld a, [hl+]
    or a
    jr z, .stage
    ld [wPart], a
    ld a, [hl+]
    ld [wCurveNext], a
    ld a, l
    ld [wTrack], a
    ld a, h
    ld [wTrack + 1], a
    ret
.stage
    ld hl, wStage
    inc [hl]
    ld a, EVENT_STAGE
    ld [wEvent], a
    jr BeginStage

; ---- driving ----

Play:
    ld a, [wPause]
    or a
    jr z, .go
    dec a
    ld [wPause], a
    ret
.go
    call Accelerate
    call Steer
    call Advance
    jp MoveTraffic

Accelerate:
    ld a, [wX + 1]          ; on the grass it is slow
    bit 7, a
    jr z, .positive
    cpl
.positive
    cp EDGE_GRASS
    ld a, [wSpeed]
    jr c, .road
    cp SPEED_GRASS
    jr c, .road
    sub 3
    jr .set
.road
    ld b, a
    ld a, [wKeys]
    bit KEY_B, a
    ld a, b
    jr z, .faster
    or a
    ret z
    dec a
    jr .set
.faster
    cp SPEED_TOP
    ret nc
    add 2
.set
    ld [wSpeed], a
    ret

Steer:
    ld hl, wX
    ld a, [hl+]
    ld h, [hl]
    ld l, a
    ld de, STEER
    ld a, [wSpeed]
    cp SPEED_GRASS
    jr nc, .fast
    ld de, STEER_SLOW
    or a
    ret z
.fast
    ld a, [wKeys]
    bit KEY_RIGHT, a
    jr z, .left
    add hl, de
.left
    bit KEY_LEFT, a
    jr z, .drift
    ld a, l
    sub e
    ld l, a
    ld a, h
    sbc d
    ld h, a
.drift                      ; outwards: 2 * curve * (speed / 16) / 256 pixels
    ld a, [wCurve]
    ld e, a
    add a
    sbc a
    ld d, a
    sla e
    rl d
    ld a, [wSpeed]
    swap a
    and $0F
    jr z, .drifted
    ld b, a
.push
    ld a, l
    sub e
    ld l, a
    ld a, h
    sbc d
    ld h, a
    dec b
    jr nz, .push
.drifted
    ld a, l
    ld [wX], a
    ld a, h
    ld [wX + 1], a
    bit 7, a
    jr z, .positive
    cpl
.positive
    cp EDGE_ROCKS
    ret c
    jp Crash

; Along the track.
Advance:
    ld a, [wSpeed]          ; 4 * speed / 256 units
    ld l, a
    ld h, 0
    add hl, hl
    add hl, hl
    ld a, [wPosition]
    add l
    ld [wPosition], a
    ld a, [wPosition + 1]
    ld b, a
    adc h
    ld [wPosition + 1], a
    xor b
    and $10
    jr z, .curve
    ld hl, wPart
    dec [hl]
    call z, NextPart
.curve                      ; a bend comes and goes slowly
    ld a, [wFrame]
    and 7
    ret nz
    ld a, [wCurve]
    ld b, a
    ld a, [wCurveNext]
    sub b
    ret z
    bit 7, a
    jr nz, .less
    inc b
    inc b
.less
    dec b
    ld a, b
    ld [wCurve], a
    ld a, [wSpeed]          ; the sky turns with the bend
    cp SPEED_GRASS
    ret c
    ld a, [wSky]
    add b
    ld [wSky], a
    ret

; Others come nearer by the difference of speeds.
MoveTraffic:
    ld a, [wTraffic]
    ld b, a
    ld a, [wSpeed]
    sub b
    ld e, a
    sbc a
    ld d, a
    sla e
    rl d
    sla e
    rl d
    ld hl, wCars
.car
    ld a, [hl]
    sub e
    ld [hl+], a
    ld a, [hl]
    sbc d
    bit 7, d                ; keeps the carry
    jr nz, .away
    jr c, .overtaken
    ld [hl+], a
    jr .next
.away
    jr c, .seen             ; to take a negative number away carries, unless it is too far to be seen
    ld a, 255
.seen
    ld [hl+], a
    jr .next
.overtaken
    ld a, 255
    ld [hl+], a
    push de
    push hl
    ld a, EVENT_OVERTOOK
    ld [wEvent], a
    call CountPoint
    call RandomLane
    pop hl
    pop de
    ld [hl], a
.next
    inc hl
    inc hl
    ld a, l
    cp LOW(wCarsEnd)
    jr nz, .car
    ret

Crash:
    ld a, EVENT_CRASH
    ld [wEvent], a
    ld hl, wLives
    ld a, [hl]
    or a
    ret z
    dec [hl]
    jp nz, PlaceCars
    ld a, STATE_OVER
    ld [wState], a
    xor a
    ld [wSpeed], a
    call KeepBest
    ; fall through

; The best score outlives the power: it is in the cartridge, which is open only meanwhile.
SaveBest:
    ld a, $0A
    ld [$0000], a
    ld a, LOW(MAGIC)
    ld [sMagic], a
    ld a, HIGH(MAGIC)
    ld [sMagic + 1], a
    ld hl, wBest
    ld de, sBest
    call .word
    ld hl, wBestShown
    call .word
    xor a
    ld [$0000], a
    ret
.word
    ld a, [hl+]
    ld [de], a
    inc de
    ld a, [hl]
    ld [de], a
    inc de
    ret

LoadBest:
    ld a, $0A
    ld [$0000], a
    ld a, [sMagic]
    cp LOW(MAGIC)
    jr nz, .none
    ld a, [sMagic + 1]
    cp HIGH(MAGIC)
    jr nz, .none
    ld hl, sBest
    ld a, [hl+]
    ld [wBest], a
    ld a, [hl+]
    ld [wBest + 1], a
    ld a, [hl+]
    ld [wBestShown], a
    ld a, [hl]
    ld [wBestShown + 1], a
.none
    xor a
    ld [$0000], a
    ret

; ---- what the next picture shows ----

Show:
    call BendRoad
    call PaintRoad
    call DrawCars
    ld a, [wState]
    cp STATE_PLAY
    call z, WriteHud
    ldh a, [hPage]
    xor 1
    ld [wReady], a
    ret

; Scroll for each line, from the nearest to the farthest: the bend, which grows with the square of the distance,
; added to a straight line from the car to the middle of the horizon.
BendRoad:
    ld a, [wCurve]
    ldh [hCurve], a
    add a
    sbc a
    ldh [hCurve + 1], a
    ld hl, wX
    ld a, [hl+]
    ld h, [hl]
    ld l, a
    ld b, h                 ; slope: x / 64 - x / 512, about x / 72
    ld c, l
    ld d, 6
.quarter
    sra b
    rr c
    dec d
    jr nz, .quarter
    ld d, b
    ld e, c
    ld a, 3
.eighth
    sra d
    rr e
    dec a
    jr nz, .eighth
    ld a, c
    sub e
    ld c, a
    ld a, b
    sbc d
    ld b, a
    xor a                   ; place: -x
    sub l
    ld l, a
    ld a, 0
    sbc h
    ld h, a
    ldh a, [hPage]
    xor 1
    ld d, a
    ld e, (ROAD_LINES - 1) * 2
.line
    ld a, SCROLL
    sub h
    ld [de], a
    ldh a, [hCurve]
    add c
    ld c, a
    ldh a, [hCurve + 1]
    adc b
    ld b, a
    add hl, bc
    dec e
    dec e
    bit 7, e
    jr z, .line
    ld a, e                 ; the table is longer than 128 bytes
    cp LOW(-2)
    jr nz, .line
    ret

; Palette for each line: light and dark take turns every 16 units of depth, and move with the car.
PaintRoad:
    ldh a, [hPage]
    xor 1
    ld h, a
    ld l, 1
    ld de, DepthOfLine
    ld a, [wPosition + 1]
    ld b, a
    ld c, ROAD_LINES
.line
    ld a, [de]
    inc de
    add b
    and $10
    ld a, PALETTE_LIGHT
    jr z, .light
    ld a, PALETTE_DARK
.light
    ld [hl+], a
    inc l
    dec c
    jr nz, .line
    ld [hl], PALETTE_SKY    ; the window
    ret

; Our car, then the others; whoever is near enough to touch is looked at here, where the picture is made.
DrawCars:
    ld hl, wSprites
    ld bc, 160
    call Clear
    ld hl, wSprites
    ld a, [wPause]
    and 4
    jr nz, .others          ; blinks
    ld d, 126
    ld e, MIDDLE
    ld b, TILE_CAR
    ld c, 3
    call DrawCar
.others
    ld a, [wState]
    or a
    ret z
    ld bc, wCars
.car
    push bc
    inc c
    ld a, [bc]              ; depth
    cp 230
    jr nc, .next
    push hl
    push af
    ld e, a
    ld d, HIGH(LineOfDepth)
    ld a, [de]
    ld e, a                 ; line of the road
    inc c
    ld a, [bc]              ; lane
    ld d, a
    push de
    ldh a, [hPage]
    xor 1
    ld h, a
    ld a, e
    add a
    ld l, a
    ld a, 128
    sub [hl]                ; the middle of the road in that line
    ld h, HIGH(LaneOfLine)
    ld l, e
    dec d
    jr z, .inLane
    dec d
    jr z, .right
    sub [hl]
    jr .inLane
.right
    add [hl]
.inLane
    pop de
    ld d, a                 ; column
    inc c
    ld [bc], a
    pop af
    cp TOUCH_DEPTH
    jr nc, .draw
    ld a, d
    sub MIDDLE
    jr nc, .positive
    cpl
    inc a
.positive
    cp TOUCH
    jr nc, .draw
    ld a, [wPause]
    or a
    jr nz, .draw
    ld a, [wState]
    cp STATE_PLAY
    jr nz, .draw
    pop hl
    pop bc
    jp Crash
.draw
    pop hl
    ld a, e
    add ROAD_FIRST
    ld b, TILE_FAR
    ld c, 1
    cp ROAD_FIRST + 20
    jr c, .size
    ld b, TILE_MIDDLE
    inc c
    cp ROAD_FIRST + 44
    jr c, .size
    ld b, TILE_NEAR
    inc c
.size
    ld e, d
    ld d, a
    call DrawCar
.next
    pop bc
    inc c
    inc c
    inc c
    inc c
    ld a, c
    cp LOW(wCarsEnd)
    jr nz, .car
    ret

; HL: a sprite, D: the line of the wheels, E: the middle's column, B: first tile, C: how many columns.
DrawCar:
    ld a, c
    add a
    add a
    cpl
    add 1 + 8
    add e
    ld e, a
.column
    ld [hl], d
    inc l
    ld [hl], e
    inc l
    ld [hl], b
    inc l
    ld [hl], 0
    inc l
    inc b
    inc b
    ld a, e
    add 8
    ld e, a
    dec c
    jr nz, .column
    ret

WriteHud:
    ld hl, wScoreShown
    ld de, wHud + 6
    call PrintDigits
    ld hl, wHud + 20 + 9    ; speed: a bar of up to six
    ld a, [wSpeed]
    swap a
    srl a
    and 7
    ld b, a
    ld c, 6
    ld d, TILE_BAR
    call .row
    ld hl, wHud + 20 + 17
    ld a, [wLives]
    ld b, a
    ld c, LIVES
    ld d, TILE_HEART
.row
    ld a, b
    or a
    ld a, TILE_FONT + 37
    jr z, .none
    dec b
    ld a, d
.none
    ld [hl+], a
    dec c
    jr nz, .row
    ret

VBlank:
    push af
    push bc
    push de
    push hl
    call hDma
    ld hl, wHud
    ld de, $9C00
    call .twenty
    ld de, $9C20
    call .twenty
    ld a, [wSkyDirty]
    or a
    jr z, .sky
    xor a
    ld [wSkyDirty], a
    ld hl, wSkyline
    ld de, $98C0
    ld c, 32
    call .some
.sky
    ld a, [wSky]
    ldh [rSCX], a
    ld a, PALETTE_SKY
    ldh [rBGP], a
    ld a, [wReady]
    ldh [hPage], a
    pop hl
    pop de
    pop bc
    pop af
    reti
.twenty
    ld c, 20
.some
    ld a, [hl+]
    ld [de], a
    inc e
    dec c
    jr nz, .some
    ret

; ---- the road's tiles, computed once ----

; The map's rows 7 to 15 are grass with the road in columns 8 to 23, 128 pixels, each with a tile of its own.
DrawRoad:
    ld hl, $9800 + 7 * 32
    ld b, TILE_ROAD
    ld d, 9
.row
    ld c, 32
.cell
    ld a, c
    sub 9                   ; 24..9 are columns 8..23
    cp 16
    ld a, TILE_GRASS
    jr nc, .grass
    ld a, b
    inc b
.grass
    ld [hl+], a
    dec c
    jr nz, .cell
    dec d
    jr nz, .row
    ld hl, $8000 + TILE_ROAD * 16
    ld de, WidthOfLine
    ld b, ROAD_LINES
.line
    push bc
    push hl
    ld c, 0                 ; pixel
.tile
    push de
    call .eight
    pop de
    push bc
    ld bc, 14
    add hl, bc
    pop bc
    ld a, c
    cp 128
    jr nz, .tile
    pop hl
    pop bc
    inc de                  ; half width and a third of it
    inc de
    inc hl                  ; the next line of these tiles
    inc hl
    ld a, b
    dec a
    and 7
    jr nz, .same
    push bc
    ld bc, 15 * 16
    add hl, bc
    pop bc
.same
    dec b
    jr nz, .line
    ret

; Eight pixels from C on at HL; DE: the line's widths.
.eight
    push hl
    ld b, 8
    ld hl, 0                ; H: high bits, L: low bits
.pixel
    push bc
    ld a, [de]
    ld b, a                 ; half the road
    ld a, c                 ; how far from the middle: 0 to 63
    sub 64
    jr nc, .right
    cpl
.right
    ld c, a
    cp b
    ld a, 1
    jr nc, .put             ; grass
    ld a, b
    srl a
    srl a
    srl a
    inc a
    add c
    cp b
    ld a, 2
    jr nc, .put             ; kerb
    ld a, b                 ; marks between three lanes
    swap a
    and $0F
    srl a
    ld b, a                 ; half / 32
    inc de
    ld a, [de]
    dec de
    cpl
    inc a
    add c
    cp b
    ld a, 3
    jr c, .put
    jr z, .put
    xor a                   ; asphalt
.put
    rra
    rl l
    rra
    rl h
    pop bc
    inc c
    dec b
    jr nz, .pixel
    ld a, l
    ld b, h
    pop hl
    ld [hl+], a
    ld [hl], b
    inc hl
    ret

INCLUDE "game.inc"

; ---- perspective: a line of the road shows the depth 2048 / (line + 8) - 26 ----

SECTION "lines of depths", ROM0, ALIGN[8]
LineOfDepth:
DEF n = 0
REPT 230
    IF 2048 / (26 + n) - 8 > 71
    db 71
    ELSE
    db 2048 / (26 + n) - 8
    ENDC
DEF n = n + 1
ENDR

; How far the outer lanes' middles are from the road's: two thirds of half of it.
SECTION "lanes of lines", ROM0, ALIGN[8]
LaneOfLine:
DEF n = 0
REPT ROAD_LINES
    db (3 * 256 + n * 216) / 256 * 2 / 3
DEF n = n + 1
ENDR

SECTION "widths", ROM0
DepthOfLine:
DEF n = 0
REPT ROAD_LINES
    db (2048 / (n + 8)) & 255
DEF n = n + 1
ENDR

; Half of the road in pixels, and a third of that.
WidthOfLine:
DEF n = 0
REPT ROAD_LINES
    db (3 * 256 + n * 216) / 256
    db (3 * 256 + n * 216) / 256 / 3
DEF n = n + 1
ENDR

; ---- pictures and texts ----

SECTION "art", ROM0
INCLUDE "letters.inc"

Tiles: ; sky, grass; slopes up and down, rock, fir, tower, wave
    ds 16, 0
    dw `11111111, `11111111, `11111111, `11111111, `11111111, `11111111, `11111111, `11111111
    dw `00000002, `00000022, `00000222, `00002222, `00022222, `00222222, `02222222, `22222222
    dw `20000000, `22000000, `22200000, `22220000, `22222000, `22222200, `22222220, `22222222
    dw `22222222, `22222222, `22222222, `22222222, `22222222, `22222222, `22222222, `22222222
    dw `00030000, `00030000, `00333000, `00333000, `03333300, `00333000, `03333300, `33333330
    dw `00333300, `00333300, `00313300, `00333300, `00331300, `00333300, `33333333, `33333333
    dw `00000000, `00000000, `00000000, `00220000, `02222000, `22222200, `22222222, `22222222
.end

MoreTiles: ; heart, bar
    dw `00000000, `03303300, `32232230, `32222230, `03222300, `00323000, `00030000, `00000000
    dw `00000000, `33333330, `32222230, `32222230, `32222230, `32222230, `33333330, `00000000
.end

SpriteTiles: ; our car, three columns; others near, at middle distance, far. Empty upper halves are seen through.
    dw `00000000, `00000000, `00000000, `00000033, `00000333, `00003311, `00033111, `00333333
    dw `03322222, `33222222, `32113222, `32113222, `33333333, `33333333, `03330000, `03330000
    dw `00000000, `00000000, `33333333, `33333333, `11111111, `11111111, `11111111, `33333333
    dw `22222222, `22222222, `22333322, `22311322, `33333333, `33333333, `00000000, `00000000
    dw `00000000, `00000000, `00000000, `33000000, `33300000, `11330000, `11133000, `33333300
    dw `22222330, `22222233, `22231123, `22231123, `33333333, `33333333, `00003330, `00003330

    dw `00000000, `00000000, `00000033, `00000321, `00003221, `00003211, `00032111, `00333333
    dw `03111111, `31111111, `31331111, `31331111, `31111111, `33333333, `03330000, `03330000
    dw `00000000, `00000000, `33333333, `11111111, `22222222, `22222222, `22222222, `33333333
    dw `11111111, `11111111, `11333311, `11322311, `11111111, `33333333, `00000000, `00000000
    dw `00000000, `00000000, `33000000, `12300000, `12230000, `11230000, `11123000, `33333300
    dw `11111130, `11111113, `11113313, `11113313, `11111113, `33333333, `00003330, `00003330

    dw `00000000, `00000000, `00000000, `00000000, `00000000, `00000000, `00003333, `00032222
    dw `00322222, `03333333, `31111111, `31331111, `31111111, `33333333, `03300000, `03300000
    dw `00000000, `00000000, `00000000, `00000000, `00000000, `00000000, `33330000, `22223000
    dw `22222300, `33333330, `11111113, `11113313, `11111113, `33333333, `00000330, `00000330

    dw `00000000, `00000000, `00000000, `00000000, `00000000, `00000000, `00000000, `00000000
    dw `00000000, `00000000, `00333300, `03222230, `31111113, `31333313, `33333333, `03000030
.end

TextTitle: db "SWITCHBACK BEST", $FF
TextTop:   db "SCORE 0000 BEST ", $FF
TextStart: db "PRESS START", $FF
TextOver:  db "GAME OVER  ", $FF
TextDark:  db "           ", $FF

; ---- the stages, one in a bank: speed of the others, name, skyline, then parts of length and curve ----

SECTION "stage 1", ROMX[$4000], BANK[1]
Stage:
    db 96, "FOOTHILL"
    db 2, 3, 0, 0, 2, 4, 3, 0, 2, 3, 5, 0, 0, 2, 4, 4, 3, 0, 0, 5, 5, 0, 2, 3, 2, 3, 0, 0, 5, 0, 0, 0
    db 24, 0, 30, 2, 20, 0, 30, -2, 24, 0, 36, 3, 20, 0, 30, -3, 24, 0, 0

SECTION "stage 2", ROMX[$4000], BANK[2]
    db 104, "THE FIRS"
    db 5, 5, 0, 5, 5, 5, 5, 0, 5, 5, 0, 0, 5, 5, 5, 0, 5, 5, 5, 5, 0, 0, 5, 5, 5, 0, 5, 5, 5, 5, 5, 0
    db 20, 0, 30, 4, 10, 0, 30, -4, 20, 0, 40, 3, 40, -3, 30, 4, 20, 0, 0

SECTION "stage 3", ROMX[$4000], BANK[3]
    db 112, "CASTLES "
    db 0, 6, 0, 2, 4, 6, 4, 3, 0, 0, 6, 0, 0, 2, 3, 6, 0, 0, 2, 4, 4, 6, 3, 0, 0, 0, 6, 6, 0, 5, 0, 0
    db 16, 0, 36, -5, 12, 0, 36, 5, 30, -2, 30, 5, 10, 0, 40, -5, 20, 0, 0

SECTION "stage 4", ROMX[$4000], BANK[4]
    db 116, "THE PASS"
    db 2, 4, 4, 4, 3, 2, 4, 3, 7, 7, 2, 4, 4, 3, 2, 4, 4, 4, 4, 3, 2, 3, 7, 2, 4, 4, 3, 2, 4, 3, 7, 7
    db 12, 0, 30, 6, 30, -6, 30, 6, 30, -6, 20, 0, 40, 5, 40, -5, 16, 0, 0
