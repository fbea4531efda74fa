/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"
#include "tests/support/test.h"

#include <string.h>

/* FIPS 180-4's examples, and lengths on both sides of a block's end. */
static void known_answers(void **state)
{
    (void)state;
    char hex[DM_SHA256_HEX_SIZE], as[200];
    memset(as, 'a', sizeof as);
    dm_sha256_hex("", 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    dm_sha256_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    dm_sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hex);
    assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    dm_sha256_hex(as, 64, hex);
    assert_string_equal(hex, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
    dm_sha256_hex(as, 55, hex);
    assert_string_equal(hex, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
}

DM_TESTS("base/sha256", DM_TEST(known_answers))
