; SPDX-License-Identifier: MIT
; WARREN
; proves: a game without interrupts: it polls LY, digs its maze while it is shown, and computes in every frame;
;         what it does depends on its input from the first level on. docs/games.md has the memory map.
; expect frames=60 [$C000]=00 frame=321eb9874eb840de
; expect frames=300 keys=60*NONE,4*START,NONE [$C000]=01 00 00 03 00 47 frame=e9a8288213cfb343
; expect frames=3000 keys=60*NONE,4*START,NONE [$C000]=02 [$C003]=00
;
; A mole gathers crystals in a warren that it has dug; hunters come after it through the shortest way. A warren
; without crystals leads to the next, where hunters are more and faster.

INCLUDE "hardware.inc"
INCLUDE "wait.inc"
HEADER "WARREN", ROM

; ---- what can be tuned ----

DEF LIVES         EQU 3
DEF HUNTERS_FIRST EQU 2
DEF HUNTERS_MAX   EQU 4
DEF SPEED_FIRST   EQU 128 ; of hunters, 1/256 pixels a frame; the mole's is 256
DEF SPEED_STEP    EQU 16
DEF SPEED_MAX     EQU 224
DEF PAUSE         EQU 60  ; frames before hunters set out
DEF TOUCH         EQU 6   ; pixels, in both directions
DEF ROOMS_A_FRAME EQU 3   ; dug
DEF SEED          EQU $57A3

; After the start the display is never switched off, and it is switched on when a whole number of frames has
; passed since power-on, so that pictures end where steps of whole frames end. This many M-cycles of waiting
; make it so, when the display was off at the start and when it was on, as after a boot ROM; docs/games.md says
; how they are found anew after a change of what runs before.
DEF PAD_OFF EQU 29464
DEF PAD_ON  EQU 13054

DEF STATE_TITLE EQU 0
DEF STATE_PLAY  EQU 1
DEF STATE_OVER  EQU 2
DEF STATE_DIG   EQU 3

DEF EVENT_NONE    EQU 0
DEF EVENT_CRYSTAL EQU 1
DEF EVENT_CAUGHT  EQU 2
DEF EVENT_CLEARED EQU 3

DEF KEY_START EQU 7 ; bit of wKeys; bits 0 to 3 are the directions

DEF RIGHT EQU 0
DEF LEFT  EQU 1
DEF UP    EQU 2
DEF DOWN  EQU 3

; The maze fills columns 0 to 18 and rows 1 to 17 of the screen; rooms are in odd columns and even rows.
; A cell of the grid is the number of its tile.
DEF CELL_WALL    EQU 0
DEF CELL_FLOOR   EQU 1
DEF CELL_CRYSTAL EQU 2
DEF CELL_OUTSIDE EQU 3
DEF ROOM_FIRST   EQU $C200 + 2 * 32 + 1
DEF ROOM_HOME    EQU $C200 + 16 * 32 + 9 ; where the mole starts
DEF TO_DISTANCE  EQU 3    ; high byte of a cell's distance from that of the cell
DEF TO_MAP       EQU $D6  ; the same of its place in the display's map
DEF FAR          EQU 127

DEF TILE_FONT   EQU 16
DEF TILE_HEART  EQU 8
DEF TILE_MOLE   EQU 64 ; two pictures
DEF TILE_HUNTER EQU 66 ; two pictures

; ---- memory: docs/games.md repeats this list ----

SECTION "variables", WRAM0[$C000]
wState:      db ; C000 STATE_...
wScore:      dw ; C001 crystals, low byte first
wLives:      db ; C003
wLevel:      db ; C004 warrens cleared
wCrystals:   db ; C005 left in this one
wEvent:      db ; C006 EVENT_..., of this frame alone
wFrame:      dw ; C007 frames since power-on
wRandom:     dw ; C009
wKeys:       db ; C00B held now
wKeysNew:    db ; C00C pressed in this frame
wBest:       dw ; C00D
wScoreShown: dw ; C00F the score's four decimal digits, high byte first
wBestShown:  dw ; C011
wSpeed:      db ; C013 of the hunters, 1/256 pixels a frame
wHunters:    db ; C014 how many
wPause:      db ; C015 frames until hunters move
wLevelShown: db ; C016 decimal, from 1
wPhase:      db ; C017 of what a state does in several frames
wRow:        dw ; C018 the row or room that comes next, an address in the grid
wDepth:      db ; C01A of the stack
wQueued:     db ; C01B cells to be shown in VBlank
wHudDirty:   db ; C01C
wHere:       dw ; C01D the mole's distance, an address
wSweepRow:   db ; C01F
SECTION "bodies", WRAM0[$C020]
wMole:       ds 8 ; C020 active, column, row, direction, pixels gone, fraction, x, y
wHunter:     ds 8 * HUNTERS_MAX
wBodiesEnd:
SECTION "sprites", WRAM0[$C100]
wSprites:    ds 160
SECTION "grid", WRAM0[$C200]
wGrid:       ds 24 * 32
SECTION "distances", WRAM0[$C500]
wDistances:  ds 24 * 32
SECTION "stack of rooms", WRAM0[$C800]
wStack:      ds 256
SECTION "queue", WRAM0[$C900]
wQueue:      ds 3 * 64 ; low byte, high byte, tile
DEF QUEUE_SIZE EQU 40

; ---- entry ----

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
    ldh [rSCX], a
    ldh [rSCY], a
    ldh [rSTAT], a
    ldh [rNR52], a
    ld hl, $C000
    ld bc, $0A00
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
    ld hl, SpriteTiles
    ld de, $8000 + TILE_MOLE * 16
    ld bc, SpriteTiles.end - SpriteTiles
    call Copy
    ld hl, DmaRoutine
    ld de, hDma
    ld bc, DmaRoutineEnd - DmaRoutine
    call Copy
    ld a, %11100100
    ldh [rBGP], a
    ldh [rOBP0], a
    ld a, %11100000
    ldh [rOBP1], a
    call EnterTitle
    pop af
    add a
    jr c, .wasOn
    WAIT PAD_OFF
    jr .on
.wasOn
    WAIT PAD_ON
.on
    ld a, LCDC_ON | LCDC_TILES_80 | LCDC_OBJ_ON | LCDC_BG_ON
    ldh [rLCDC], a

; Once per frame: show in VBlank what was thought; think from line 1 on.
MainLoop:
.shown
    ldh a, [rLY]
    cp 144
    jr nz, .shown
    call hDma
    call ShowHud
    call Flush
.begun
    ldh a, [rLY]
    cp 1
    jr nz, .begun
    ld hl, wFrame
    inc [hl]
    jr nz, .low
    inc hl
    inc [hl]
.low
    call ReadKeys
    xor a
    ld [wEvent], a
    call Think
    jr MainLoop

Think:
    ld a, [wState]
    cp STATE_PLAY
    jp z, Play
    cp STATE_DIG
    jp z, Dig
    cp STATE_OVER
    jr z, Over
    ; fall through

; ---- title and end ----

Title:
    ld a, [wPhase]
    or a
    jr nz, .text
    ld a, CELL_OUTSIDE
    jp WipeRow
.text
    dec a
    jr nz, .wait
    ld hl, TextTitle
    ld de, $9800 + 5 * 32 + 7
    call Say
    ld hl, TextBest
    ld de, $9800 + 12 * 32 + 5
    call Say
    ld hl, wBestShown
    ld de, $9800 + 12 * 32 + 10
    call SayDigits
    ld hl, wPhase
    inc [hl]
    ret
.wait
    ld hl, TextStart
    call Blink
    ld a, [wKeysNew]
    bit KEY_START, a
    ret z
    ld a, [wFrame]          ; the moment of START decides how the warren is dug
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
    ld [wLevel], a
    inc a
    ld [wLevelShown], a
    ld a, LIVES
    ld [wLives], a
    ld a, HUNTERS_FIRST
    ld [wHunters], a
    ld a, SPEED_FIRST
    ld [wSpeed], a
    jp EnterDig

Over:
    ld hl, TextOver
    call Blink
    ld a, [wKeysNew]
    bit KEY_START, a
    ret z
    ; fall through

EnterTitle:
    call HideSprites
    ld a, STATE_TITLE
    jr Wipe

EnterDig:
    call HideSprites
    ld a, STATE_DIG
    ; fall through

; A: the state, whose first phase draws one row per frame anew
Wipe:
    ld [wState], a
    xor a
    ld [wPhase], a
    ld hl, wRow
    ld [hl], LOW(wGrid)
    inc hl
    ld [hl], HIGH(wGrid)
    ld hl, wGrid            ; one row more than is seen stays "outside"
    ld bc, 24 * 32
.outside
    ld a, CELL_OUTSIDE
    ld [hl+], a
    dec bc
    ld a, b
    or c
    jr nz, .outside
    ret

; A: the cell that fills columns 0 to 18 of the next row, the top row apart; after the last row the next phase.
WipeRow:
    ld b, a
    ld hl, wRow
    ld a, [hl+]
    ld h, [hl]
    ld l, a
    or a
    jr nz, .below
    ld a, h
    cp HIGH(wGrid)
    jr nz, .below
    ld b, CELL_OUTSIDE      ; the top row is for the score
.below
    ld c, 19
.cell
    ld a, b
    call Put
    inc hl
    dec c
    jr nz, .cell
    ld a, CELL_OUTSIDE
    call Put
    ld de, 13
    add hl, de
    ld a, l
    ld [wRow], a
    ld a, h
    ld [wRow + 1], a
    cp HIGH(wGrid + 18 * 32)
    ret nz
    ld a, l
    cp LOW(wGrid + 18 * 32)
    ret nz
    ld hl, wPhase
    inc [hl]
    ld a, 1
    ld [wHudDirty], a
    ret

; ---- digging ----

Dig:
    ld a, [wPhase]
    or a
    jr nz, .rooms
    ld a, CELL_WALL
    call WipeRow
    ld a, [wPhase]
    or a
    ret z
    xor a                   ; the first room is the mole's home
    ld [wCrystals], a
    ld [wDepth], a
    ld hl, ROOM_HOME
    call SetRow
    ld a, CELL_FLOOR
    jp Put
.rooms
    ld b, ROOMS_A_FRAME
    dec a
    jr nz, .ways
.room
    push bc
    call DigRoom
    pop bc
    dec b
    jr nz, .room
    ret
.ways
    dec a
    jr nz, .begin
.way
    push bc
    ld a, [wPhase]
    cp 2
    call z, SecondWay
    pop bc
    dec b
    jr nz, .way
    ret
.begin
    ld a, STATE_PLAY
    ld [wState], a
    ; fall through

; The mole and the hunters go to where they start.
PlaceBodies:
    ld hl, wMole
    ld bc, wBodiesEnd - wMole
    call Clear
    ld hl, wDistances
    ld bc, 24 * 32
.far
    ld a, FAR
    ld [hl+], a
    dec bc
    ld a, b
    or c
    jr nz, .far
    ld hl, wMole
    ld de, Homes
    ld a, [wHunters]
    inc a
    ld b, a
.body
    ld [hl], 1
    inc l
    ld a, [de]
    inc de
    ld [hl+], a             ; column
    ld c, a
    ld a, [de]
    inc de
    ld [hl+], a             ; row
    inc l
    inc l
    inc l
    sla c
    sla c
    sla c
    ld [hl], c              ; x
    inc l
    add a
    add a
    add a
    ld [hl+], a             ; y
    dec b
    jr nz, .body
    ld a, PAUSE
    ld [wPause], a
    jp DrawSprites

Homes:
    db 9, 16
    db 1, 2
    db 17, 2
    db 1, 16
    db 17, 16

SetRow:
    ld a, l
    ld [wRow], a
    ld a, h
    ld [wRow + 1], a
    ret

GetRow:
    ld hl, wRow
    ld a, [hl+]
    ld h, [hl]
    ld l, a
    ret

; From the room in wRow dig a way into one that is still solid; without such, go back by one.
DigRoom:
    call Random
    and 3
    ld b, a
    ld c, 4
.try
    call GetRow
    ld a, b
    call Step
    ld a, b
    call Step
    ld a, [hl]
    or a                    ; CELL_WALL
    jr z, .found
    ld a, b
    inc a
    and 3
    ld b, a
    dec c
    jr nz, .try
    ld hl, wDepth           ; back
    ld a, [hl]
    or a
    jr z, .done
    dec [hl]
    dec a
    add a
    ld l, a
    ld h, HIGH(wStack)
    ld a, [hl+]
    ld h, [hl]
    ld l, a
    jr SetRow
.found
    ld a, CELL_CRYSTAL
    call Put
    push hl
    call GetRow
    ld d, h
    ld e, l
    ld hl, wDepth           ; remember this room
    ld a, [hl]
    inc [hl]
    add a
    ld l, a
    ld h, HIGH(wStack)
    ld [hl], e
    inc l
    ld [hl], d
    ld h, d
    ld l, e
    ld a, b
    call Step
    ld a, CELL_FLOOR
    call Put
    pop hl
    call SetRow
    ld hl, wCrystals
    inc [hl]
    ret
.done
    ld a, [wPhase]
    cp 1
    ret nz
    ld hl, wPhase
    inc [hl]
    ld hl, ROOM_FIRST
    jr SetRow

; A dead end gets a second way out, and so does one room in four of the others.
SecondWay:
    call GetRow
    ld bc, $0400            ; C: ways
.count
    push hl
    ld a, b
    dec a
    call Step
    ld a, [hl]
    pop hl
    or a
    jr z, .solid
    inc c
.solid
    dec b
    jr nz, .count
    dec c
    jr z, .open
    call Random
    and 3
    jr nz, .next
.open
    call Random
    and 3
    ld b, a
    ld c, 4
.try
    call GetRow
    ld a, b
    call Step
    ld a, [hl]
    or a
    jr nz, .other           ; open already
    push hl
    ld a, b
    call Step
    ld a, [hl]
    pop hl
    cp CELL_OUTSIDE
    jr z, .other
    ld a, CELL_FLOOR
    call Put
    jr .next
.other
    ld a, b
    inc a
    and 3
    ld b, a
    dec c
    jr nz, .try
.next
    call GetRow             ; the next room
    ld de, 2
    add hl, de
    ld a, l
    and 31
    cp 19
    jr c, .same
    ld de, 64 - 18
    add hl, de
.same
    call SetRow
    ld a, h
    cp HIGH(wGrid + 18 * 32)
    ret c
    ld a, l
    cp LOW(wGrid + 18 * 32)
    ret c
    ld hl, wPhase
    inc [hl]
    ret

; HL: one cell further in direction A. Changes DE.
Step:
    push hl
    add a
    add LOW(Offsets)
    ld l, a
    ld h, HIGH(Offsets)
    ld a, [hl+]
    ld d, [hl]
    ld e, a
    pop hl
    add hl, de
    ret

; ---- play ----

Play:
    ld a, [wPause]
    or a
    jr z, .go
    dec a
    ld [wPause], a
    jr .think
.go
    call MoveMole
    ld a, [wState]
    cp STATE_PLAY
    ret nz                  ; the warren was cleared
    ld hl, wHunter
    ld a, [wHunters]
    ld b, a
.hunter
    push bc
    push hl
    call MoveHunter
    pop hl
    push hl
    call Touches
    pop hl
    pop bc
    jr c, .caught
    ld de, 8
    add hl, de
    dec b
    jr nz, .hunter
.think
    call Sweep
    jp DrawSprites
.caught
    ld a, EVENT_CAUGHT
    ld [wEvent], a
    ld a, 1
    ld [wHudDirty], a
    ld hl, wLives
    dec [hl]
    jp nz, PlaceBodies
    ld a, STATE_OVER
    ld [wState], a
    call DrawSprites
    jp KeepBest

; HL: a hunter. Carry: it touches the mole.
Touches:
    ld de, 6
    add hl, de
    ld a, [wMole + 6]
    call .near
    ret nc
    inc l
    ld a, [wMole + 7]
.near
    sub [hl]
    jr nc, .positive
    cpl
    inc a
.positive
    cp TOUCH
    ret

MoveMole:
    ld a, [wMole + 4]
    or a
    jr nz, .onTheWay
    ld hl, wMole
    call CellOf
    ld a, h                 ; hunters smell it here
    add TO_DISTANCE
    ld [wHere + 1], a
    ld a, l
    ld [wHere], a
    ld a, [wKeys]           ; a way that is new is taken before the one that goes on
    ld c, a
    ld b, 0
.try
    srl c
    jr nc, .other
    ld a, [wMole + 3]
    cp b
    jr z, .other
    call IsOpen
    jr nz, .turn
.other
    inc b
    ld a, b
    cp 4
    jr c, .try
    ld a, [wMole + 3]       ; straight on, if the button is held
    ld b, a
    inc a
    ld c, a
    ld a, [wKeys]
.shift
    srl a
    dec c
    jr nz, .shift
    ret nc
    call IsOpen
    ret z
.turn
    ld a, b
    ld [wMole + 3], a
    jr .move
.onTheWay
    ld a, [wMole + 3]       ; it may turn round on the way
    xor 1
    ld b, a
    inc a
    ld c, a
    ld a, [wKeys]
.back
    srl a
    dec c
    jr nz, .back
    jr nc, .move
    ld a, b
    ld [wMole + 3], a
    ld a, [wMole + 4]
    cpl
    add 9
    ld [wMole + 4], a
.move
    ld hl, wMole
    call MovePixel
    ret nz
    ld hl, wMole            ; in a cell: is there a crystal?
    call CellOf
    ld a, [hl]
    cp CELL_CRYSTAL
    ret nz
    ld a, CELL_FLOOR
    call Put
    ld a, EVENT_CRYSTAL
    ld [wEvent], a
    ld a, 1
    ld [wHudDirty], a
    call CountPoint
    ld hl, wCrystals
    dec [hl]
    ret nz
    ld a, EVENT_CLEARED
    ld [wEvent], a
    ld hl, wLevel
    inc [hl]
    ld a, [wLevelShown]
    add 1
    daa
    ld [wLevelShown], a
    ld a, [wSpeed]
    cp SPEED_MAX
    jr nc, .fastest
    add SPEED_STEP
    ld [wSpeed], a
.fastest
    ld a, [wHunters]
    cp HUNTERS_MAX
    jp nc, EnterDig
    inc a
    ld [wHunters], a
    jp EnterDig

; HL: a hunter
MoveHunter:
    ld a, [wSpeed]
    ld b, a
    ld a, l
    add 5
    ld l, a
    ld a, [hl]              ; fraction
    add b
    ld [hl-], a
    ret nc
    ld a, [hl]              ; pixels gone
    push af
    ld a, l
    and $F8
    ld l, a
    pop af
    or a
    jr nz, MovePixel
    push hl
    call CellOf
    call Random             ; changes DE
    ld c, a
    and $30                 ; one time in four anywhere
    ld a, c
    jr z, .anyWay
    call Nearest
    jr .go
.anyWay
    and 3
    ld b, a
.turn
    call IsOpen
    jr nz, .go
    inc b
    ld a, b
    and 3
    ld b, a
    jr .turn
.go
    pop hl
    ld a, l
    add 3
    ld l, a
    ld [hl], b
    sub 3
    ld l, a
    ; fall through

; HL: a body, which goes one pixel in its direction. Zero: it has reached a cell.
MovePixel:
    ld a, l
    add 3
    ld l, a
    ld a, [hl+]             ; direction
    ld b, a
    inc [hl]                ; pixels gone
    res 3, [hl]             ; of 8
    ld c, [hl]
    inc l
    inc l                   ; x
    bit 1, b
    jr z, .horizontal
    inc l
.horizontal
    ld a, b
    or a
    jr z, .more
    cp DOWN
    jr z, .more
    dec [hl]
    jr .moved
.more
    inc [hl]
.moved
    ld a, c
    or a
    ret nz
    ld a, l
    or 7                    ; y
    ld l, a
    ld a, [hl-]
    rrca
    rrca
    rrca
    and $1F
    ld b, a                 ; row
    ld a, [hl]
    rrca
    rrca
    rrca
    and $1F
    ld c, a                 ; column
    ld a, l
    sub 5
    ld l, a
    ld [hl], c
    inc l
    ld [hl], b
    xor a
    ret

; HL: a body; then the address of its cell. Changes DE.
CellOf:
    inc l
    ld a, [hl+]
    ld e, a
    ld a, [hl]
    ld l, a
    ld h, 0
    add hl, hl
    add hl, hl
    add hl, hl
    add hl, hl
    add hl, hl
    ld d, HIGH(wGrid)
    add hl, de
    ret

; HL: a cell, B: a direction. Not zero: there is no wall. Changes DE.
IsOpen:
    push hl
    ld a, b
    call Step
    ld a, [hl]
    pop hl
    or a                    ; CELL_WALL
    ret

; HL: a cell. B: the direction of the neighbour that is nearest to the mole.
Nearest:
    ld a, h
    add TO_DISTANCE
    ld h, a
    ld bc, RIGHT * 256 + FAR + 1
    inc l
    ld a, [hl]
    cp c
    jr nc, .left
    ld c, a
.left
    dec l
    dec l
    ld a, [hl]
    cp c
    jr nc, .up
    ld c, a
    ld b, LEFT
.up
    inc l
    ld de, -32
    add hl, de
    ld a, [hl]
    cp c
    jr nc, .down
    ld c, a
    ld b, UP
.down
    ld de, 64
    add hl, de
    ld a, [hl]
    cp c
    ret nc
    ld b, DOWN
    ret

; ---- distances from the mole, over all cells to and fro ----

; One cell and on in direction \1 (inc, dec): 0 in the mole's cell, 1 more than the nearest neighbour elsewhere.
MACRO RELAX
    ld h, d
    ld l, e
    ld a, [hl]
    or a
    jr z, .wall\1           ; CELL_WALL
    ld a, h
    add TO_DISTANCE
    ld h, a
    dec l
    ld a, [hl+]
    ld b, a
    inc l
    ld a, [hl-]
    cp b
    jr nc, .left\1
    ld b, a
.left\1
    push de
    ld de, -32
    add hl, de
    ld a, [hl]
    cp b
    jr nc, .up\1
    ld b, a
.up\1
    ld de, 64
    add hl, de
    ld a, [hl]
    cp b
    jr nc, .down\1
    ld b, a
.down\1
    ld de, -32
    add hl, de
    inc b
    bit 7, b
    jr z, .near\1
    dec b                   ; FAR
.near\1
    pop de
    ld a, [wHere]
    cp l
    jr nz, .there\1
    ld a, [wHere + 1]
    cp h
    jr nz, .there\1
    ld b, 0
.there\1
    ld [hl], b
.wall\1
    \1 e
ENDM

; Half of the rows in a frame, or a picture would not be enough: down and back up in four.
Sweep:
    ld a, [wFrame]
    and 3
    jr z, .upper
    dec a
    jr z, .lower
    dec a
    jr z, .lowerBack
    ld de, ROOM_FIRST + 7 * 32 + 16
    ld a, 8
    jr .back
.lowerBack
    ld de, ROOM_FIRST + 14 * 32 + 16
    ld a, 7
.back
    ld [wSweepRow], a
.rowBack
    ld c, 17
.cellBack
    RELAX dec
    dec c
    jr nz, .cellBack
    ld hl, 17 - 32
    add hl, de
    ld d, h
    ld e, l
    ld hl, wSweepRow
    dec [hl]
    jr nz, .rowBack
    ret
.lower
    ld de, ROOM_FIRST + 8 * 32
    ld a, 7
    jr .forth
.upper
    ld de, ROOM_FIRST
    ld a, 8
.forth
    ld [wSweepRow], a
.row
    ld c, 17
.cell
    RELAX inc
    dec c
    jr nz, .cell
    ld hl, 32 - 17
    add hl, de
    ld d, h
    ld e, l
    ld hl, wSweepRow
    dec [hl]
    jr nz, .row
    ret

; ---- what is shown ----

; HL: a cell, A: its new value, which is shown in the next VBlank. Keeps all but DE.
Put:
    ld [hl], a
    push hl
    ld d, a
    ld a, h
    add TO_MAP
    ld h, a
    call Queue
    pop hl
    ret

; HL: a place in the display's map, D: the tile that it gets in the next VBlank. Changes E.
Queue:
    ld a, [wQueued]
    cp QUEUE_SIZE
    ret nc                  ; cannot be: no frame has that many
    push bc
    ld c, a
    inc a
    ld [wQueued], a
    ld a, c
    add a
    add c
    ld c, a
    ld b, HIGH(wQueue)
    ld a, l
    ld [bc], a
    inc c
    ld a, h
    ld [bc], a
    inc c
    ld a, d
    ld [bc], a
    pop bc
    ret

; HL: text that ends with $FF, DE: place in the map
Say:
    ld a, [hl+]
    cp $FF
    ret z
    push hl
    ld h, d
    ld l, e
    ld d, a
    call Queue
    ld d, h
    ld e, l
    inc de
    pop hl
    jr Say

; HL: two bytes of decimal digits, high byte first; DE: place in the map
SayDigits:
    call .byte
.byte
    ld a, [hl]
    swap a
    call .digit
    ld a, [hl+]
.digit
    and $0F
    add TILE_FONT
    push hl
    ld h, d
    ld l, e
    ld d, a
    call Queue
    ld d, h
    ld e, l
    inc de
    pop hl
    ret

; HL: a text of eleven letters that comes and goes in the middle of the screen
Blink:
    ld a, [wFrame]
    ld b, a
    and 31
    ret nz
    bit 5, b
    jr z, .lit
    ld hl, TextDark
.lit
    ld de, $9800 + 9 * 32 + 4
    jr Say

; In VBlank: what was put into the queue.
Flush:
    ld a, [wQueued]
    or a
    ret z
    ld b, a
    ld hl, wQueue
.next
    ld a, [hl+]
    ld e, a
    ld a, [hl+]
    ld d, a
    ld a, [hl+]
    ld [de], a
    dec b
    jr nz, .next
    xor a
    ld [wQueued], a
    ret

; In VBlank: score, level and lives.
ShowHud:
    ld a, [wHudDirty]
    or a
    ret z
    xor a
    ld [wHudDirty], a
    ld hl, TextTop
    ld de, $9800
    call Print
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
    ld a, CELL_OUTSIDE
    jr z, .none
    dec b
    ld a, TILE_HEART
.none
    ld [hl+], a
    dec c
    jr nz, .heart
    ret

HideSprites:
    ld hl, wSprites
    ld bc, 160
    jp Clear

DrawSprites:
    ld hl, wMole
    ld de, wSprites
    ld bc, TILE_MOLE        ; B: palette
.body
    ld a, [hl]
    or a
    jr z, .hidden
    push hl
    ld a, l
    add 7
    ld l, a
    ld a, [hl-]
    add 16
    ld [de], a              ; y
    inc e
    ld a, [hl]
    add 8
    ld [de], a              ; x
    inc e
    ld a, [wFrame]          ; two pictures each, changing every 8 frames
    rrca
    rrca
    rrca
    and 1
    add c
    ld [de], a
    inc e
    ld a, b
    ld [de], a
    inc e
    pop hl
    jr .next
.hidden
    ld [de], a
    inc e
    inc e
    inc e
    inc e
.next
    ld bc, OBJ_PAL1 * 256 + TILE_HUNTER
    ld a, l
    add 8
    ld l, a
    cp LOW(wBodiesEnd)
    jr nz, .body
    ret

INCLUDE "game.inc"

; ---- pictures and texts ----

SECTION "tables", ROM0, ALIGN[8]
Offsets: dw 1, -1, -32, 32

SECTION "art", ROM0
INCLUDE "letters.inc"

Tiles: ; wall, floor, crystal, outside; a heart
    dw `22222222, `23333332, `23333332, `23323332, `23333332, `23333232, `23333332, `22222222
    ds 16, 0
    dw `00000000, `00030000, `00323000, `03212300, `03212300, `00323000, `00030000, `00000000
    ds 16, 0
    ds 4 * 16, 0
    dw `00000000, `03303300, `32232230, `32222230, `03222300, `00323000, `00030000, `00000000
.end

SpriteTiles: ; the mole and a hunter, two pictures each
    dw `00333300, `03222230, `32322323, `32222223, `32233223, `03222230, `00333300, `03300330
    dw `00333300, `03222230, `32322323, `32222223, `32233223, `03222230, `00333300, `33000033
    dw `03300330, `33333333, `31133113, `31333313, `33333333, `33333333, `30330303, `30030003
    dw `03300330, `33333333, `31133113, `33133133, `33333333, `33333333, `03033033, `03003003
.end

TextTop:   db "SCORE 0000  LV", $FF
TextTitle: db "WARREN", $FF
TextBest:  db "BEST", $FF
TextStart: db "PRESS START", $FF
TextOver:  db " GAME OVER ", $FF
TextDark:  db "           ", $FF
