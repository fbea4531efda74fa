/* SPDX-License-Identifier: MIT */
/* machine.h - the state of one Game Boy (DMG); kernel text.
 *
 * Start reading here. A machine is two pieces of memory without pointers, so that saving is copying
 * and tens of thousands of them can stand side by side on a GPU:
 *
 *   dm_gb_machine    registers of the CPU and of the devices, below
 *   machine memory   VRAM, WRAM, OAM, HRAM and cartridge RAM, reached only through context.h
 *
 * The ROM is read-only, and machines that run the same game share it. The files beside this one:
 *
 *   sm83.h    one instruction, driven by its row of opcodes.def (decode.h, regs.h)
 *   bus.h     the memory map; every access costs one M-cycle (4 T-cycles)
 *   event.h   everything that is not executing instructions: events of devices, interrupts, HALT
 *   timer.h ppu.h draw.h apu.h cart.h dma.h; serial and joypad in io.h: the devices
 *
 * and what runs it, in folders of its own:
 *
 *   cpu/run.h     the loop: fetch, execute, and `if (clock passed next_event) ...`
 *   cpu/idle.h    idle loops, passed without executing each pass
 *   simt/simt.h   how a GPU runs many machines
 *
 * Time. `clock` counts T-cycles modulo 2^32 and is compared by signed difference. An access happens
 * at `clock`, then the clock moves on by 4. Devices are lazy: each remembers the moment up to which
 * it is computed. It is synced, brought up to the present, only when the CPU accesses it or when it
 * must act by itself, usually to request an interrupt: that moment is its next event. An event at
 * T-cycle e is seen by accesses at t > e. */
#ifndef DM_GB_MACHINE_H
#define DM_GB_MACHINE_H

#include "base/port.h"
#include "gb/machine/apu.h"
#include "gb/machine/cart.h"

/* The first three are in include/dotmatrix/gb.h too, which kernel text cannot include on a GPU. A file
 * that includes both headers does not compile when they differ. */
#define DM_GB_SCREEN_W 160
#define DM_GB_SCREEN_H 144
#define DM_GB_FRAME_CYCLES 70224u
#define DM_GB_LINE_CYCLES 456u
#define DM_GB_LINES 154u           /* of a frame, VBlank included */
#define DM_GB_INSTRUCTION_MOST 24u /* T-cycles of the longest instruction */

/* Machine memory, by offset. */
#define DM_GB_VRAM 0x0000u
#define DM_GB_WRAM 0x2000u
#define DM_GB_OAM 0x4000u
#define DM_GB_HRAM 0x40A0u /* FF80..FFFF: 127 bytes and IE */
#define DM_GB_IE (DM_GB_HRAM + 0x7Fu)
#define DM_GB_CART_RAM 0x4140u /* as many bytes as the cartridge has */

/* Interrupt bits in IF and IE. */
#define DM_GB_INT_VBLANK 0x01u
#define DM_GB_INT_STAT 0x02u
#define DM_GB_INT_TIMER 0x04u
#define DM_GB_INT_SERIAL 0x08u
#define DM_GB_INT_JOYPAD 0x10u

/* The buttons, as one mask; set bits are pressed. They are in include/dotmatrix/gb.h too, likewise. */
#define DM_GB_KEY_RIGHT 0x01u
#define DM_GB_KEY_LEFT 0x02u
#define DM_GB_KEY_UP 0x04u
#define DM_GB_KEY_DOWN 0x08u
#define DM_GB_KEY_A 0x10u
#define DM_GB_KEY_B 0x20u
#define DM_GB_KEY_SELECT 0x40u
#define DM_GB_KEY_START 0x80u

enum dm_gb_cpu_mode {
    DM_GB_RUNNING,
    DM_GB_HALTED,
    DM_GB_STOPPED,
    DM_GB_LOCKED /* an illegal opcode: nothing but a reset helps */
};

/* Registers as bytes; regs.h says in what form they live while instructions run. */
typedef struct dm_gb_cpu {
    uint8_t b, c, d, e, h, l, f, a;
    uint16_t pc, sp;
    uint8_t ime;      /* 0 or 1 */
    uint8_t ei_delay; /* EI was the last instruction: it takes effect after the next one */
    uint8_t mode;     /* enum dm_gb_cpu_mode */
    uint8_t halt_bug; /* the next opcode byte is read twice */
    uint8_t waking;   /* halted, but an interrupt will end that at wake_at */
    uint8_t pad[3];
    uint32_t halted_at, wake_at;
} dm_gb_cpu;

/* The counter behind DIV is `clock - div_base`, 16 bits; TIMA counts falling edges of one of its
 * bits. */
typedef struct dm_gb_timer {
    uint32_t div_base;
    uint32_t synced;    /* TIMA is right for accesses at this time */
    uint32_t reload_at; /* access time at which an overflowed TIMA reloads; meaningful with
                           `overflowed` */
    uint8_t tima, tma, tac;
    uint8_t overflowed;
} dm_gb_timer;

typedef struct dm_gb_serial {
    uint8_t sb, sc;
    uint8_t bits_left; /* of a running transfer */
    uint8_t turned;    /* the serial clock is bit 8 of the divider; 1: its opposite */
    uint32_t next_bit; /* time of the next shift */
} dm_gb_serial;

typedef struct dm_gb_dma {
    uint32_t start; /* access time of the write to FF46 */
    uint16_t source;
    uint8_t reg;       /* what FF46 reads back */
    uint8_t active;    /* a transfer is under way */
    uint8_t next;      /* index of the next byte to copy */
    uint8_t restarted; /* 0, or 1 + the byte that the transfer cut short by this one copied last */
    uint8_t pad[2];
} dm_gb_dma;

/* A line that is made dot by dot (fifo.h). Queues are bit planes, the next pixel on top. */
typedef struct dm_gb_fifo {
    uint16_t dot;     /* the next one; 0: this line is not made so */
    uint16_t address; /* in VRAM, of the fetcher's read */
    uint8_t x;        /* of the next pixel; negative (mod 256) before the screen begins */
    uint8_t out;      /* pixels on the screen */
    uint8_t step;     /* enum dm_gb_fetch */
    uint8_t tile, low, high;
    uint8_t queue_low, queue_high, queue; /* background, and how many pixels */
    uint8_t sprite_low, sprite_high, sprite_palette, sprite_behind;
    uint8_t sprite; /* index in ppu.sprite of the next one */
    uint8_t state;  /* enum dm_gb_fifo_state */
    uint8_t wait;   /* dots in which nothing happens */
    uint8_t sprite_tile, sprite_flags, sprite_data;
    uint8_t flags;       /* DM_GB_FIFO_* */
    uint8_t window_tile; /* column of the window's map */
    uint8_t windows;     /* windows begun on this line */
    uint8_t pad[2];
} dm_gb_fifo;

typedef struct dm_gb_ppu {
    uint8_t lcdc, stat, scy, scx, lyc, bgp, obp0, obp1, wy, wx; /* stat: the enable bits 3..6 */
    uint8_t line;        /* 0..153, the line that line_start belongs to */
    uint8_t first_line;  /* this is the short line right after switching on */
    uint32_t line_start; /* time of dot 0 of `line`; meaningless while the LCD is off */
    uint16_t next_dot;   /* dot of the next edge in this line that matters (ppu.h) */
    uint16_t mode0_dot;  /* when mode 3 of `line` ends; 0: not known yet */
    uint8_t edge;        /* number of the next edge in this line */
    uint8_t mode_int;    /* the mode that STAT interrupts look at; DM_GB_NONE: none */
    uint8_t compare;     /* what LYC is compared with; DM_GB_NONE: nothing just now */
    uint8_t lyc_bit;     /* STAT bit 2 */
    uint8_t lyc_line;    /* the comparison as the interrupt sees it */
    uint8_t stat_line;   /* level of the STAT interrupt line */
    uint8_t window_on;   /* WY has matched in this frame */
    uint8_t window_line; /* lines of the window shown so far in this frame */
    uint8_t closed;      /* mode 3 of this line is over and its window lines are counted */
    uint8_t drawn;       /* pixels of `line` drawn so far, 0 or 160; fifo.out on disturbed lines */
    uint8_t drawing;     /* this frame is being drawn */
    uint8_t new_screen;  /* frames until something is shown after switching on: 1, then 0 */
    uint8_t blank;       /* the screen shows nothing */
    uint8_t front;       /* which of the two pictures is complete */
    uint8_t sprites;     /* sprites found on this line so far */
    uint8_t sprite[10];  /* their numbers in OAM, leftmost first */
    uint8_t sprite_x[10], sprite_y[10];
    uint8_t scanned;      /* sprites of OAM looked at so far for this line, 0..40 */
    uint8_t window_carry; /* this line begins in the window */
    uint8_t pad;
    dm_gb_fifo fifo;
    uint32_t frames; /* VBlanks since power-on */
} dm_gb_ppu;

#define DM_GB_NONE 0xFFu

typedef struct dm_gb_joypad {
    uint8_t select; /* bits 4 and 5 as last written */
    uint8_t keys;   /* DM_GB_KEY_* held now */
    uint8_t pad[2];
} dm_gb_joypad;

typedef struct dm_gb_machine {
    uint32_t clock;
    uint32_t next_event; /* handle devices when clock passes this */
    uint32_t target;     /* where the running call stops */
    /* Counters of 64 bits in two halves, as of the last stop. */
    uint32_t cycles_low, cycles_high;             /* T-cycles since power-on */
    uint32_t instructions_low, instructions_high; /* executed */
    uint32_t halted_low, halted_high;             /* T-cycles spent in HALT */
    uint32_t counted_at; /* clock at which cycles_* were last brought up to date */
    dm_gb_cpu cpu;
    uint8_t int_flags;   /* IF, low five bits */
    uint8_t boot_mapped; /* a boot ROM covers 0000..00FF */
    uint8_t profile;     /* how it was started: enum dm_gb_start */
    uint8_t pad;
    dm_gb_timer timer;
    dm_gb_serial serial;
    dm_gb_dma dma;
    dm_gb_ppu ppu;
    dm_gb_joypad joypad;
    dm_gb_apu apu;
    dm_gb_cart cart;
} dm_gb_machine;

/* ---- What a machine context points to (context.h) ---- */

/* What the machine sent over the serial port; the caller of a run owns the bytes. */
typedef struct dm_gb_serial_log {
    uint8_t *bytes;
    uint32_t size, capacity; /* bytes past capacity are counted, not kept */
} dm_gb_serial_log;

/* Which pictures are wanted: the public enum dm_gb_draw, for kernel text. */
#if DM_HAS_HEADERS
#include <dotmatrix/gb.h>
#else
enum dm_gb_draw { DM_GB_DRAW_NEVER, DM_GB_DRAW_LAST, DM_GB_DRAW_ALWAYS };
#endif

/* ---- Time ---- */

/* Is time a before time b? */
DM_FN bool dm_gb_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

DM_FN uint32_t dm_gb_earlier(uint32_t a, uint32_t b)
{
    return dm_gb_before(a, b) ? a : b;
}

/* A time further away than any event. The next event is worked out anew long before it is reached. */
DM_FN uint32_t dm_gb_never(uint32_t now)
{
    return now + 0x20000000u;
}

#endif
