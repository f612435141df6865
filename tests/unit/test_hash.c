/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests.h"

#include "base/hash.h"
#include "base/macros.h"

/* Vectors of FIPS 180-4 and the NIST examples. */
static void fips_vectors(void **state)
{
	static const char *const rows[][2] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
		{"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
		 "mnopqrstnopqrstu",
		 "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
	};
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		char hex[65];
		hash_sha256_hex(rows[i][0], strlen(rows[i][0]), hex);
		assert_string_equal(hex, rows[i][1]);
	}
}

static void a_million_times_a(void **state)
{
	_cleanup_free_ char *data = malloc(1000000);
	char hex[65];
	memset(data, 'a', 1000000);
	hash_sha256_hex(data, 1000000, hex);
	assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void nothing_may_be_null(void **state)
{
	char hex[65];
	hash_sha256_hex(NULL, 0, hex);
	assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void parts_make_the_whole(void **state)
{
	unsigned char data[300];
	char whole[65], parts[65];
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(i * 7);
	hash_sha256_hex(data, sizeof data, whole);
	for (size_t a = 0; a <= sizeof data; a += 3)
		for (size_t b = a; b <= sizeof data; b += 17) {
			struct hash_sha256 h;
			hash_sha256_begin(&h);
			hash_sha256_add(&h, data, a);
			hash_sha256_add(&h, data + a, b - a);
			hash_sha256_add(&h, data + b, sizeof data - b);
			hash_sha256_end(&h, parts);
			assert_string_equal(whole, parts);
		}
}

/* Around the block length the padding moves from one block to two; checked against sha256sum. */
static void lengths_around_a_block(void **state)
{
	static const struct {
		size_t len;
		const char *hex;
	} rows[] = {
		{1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"},
		{55, "463eb28e72f82e0a96c0a4cc53690c571281131f672aa229e0d45ae59b598b59"},
		{56, "da2ae4d6b36748f2a318f23e7ab1dfdf45acdc9d049bd80e59de82a60895f562"},
		{63, "29af2686fd53374a36b0846694cc342177e428d1647515f078784d69cdb9e488"},
		{64, "fdeab9acf3710362bd2658cdc9a29e8f9c757fcf9811603a8c447cd1d9151108"},
		{65, "4bfd2c8b6f1eec7a2afeb48b934ee4b2694182027e6d0fc075074f2fabb31781"},
		{119, "da18797ed7c3a777f0847f429724a2d8cd5138e6ed2895c3fa1a6d39d18f7ec6"},
		{120, "f52b23db1fbb6ded89ef42a23ce0c8922c45f25c50b568a93bf1c075420bbb7c"},
		{128, "471fb943aa23c511f6f72f8d1652d9c880cfa392ad80503120547703e56a2be5"},
	};
	unsigned char data[130];
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)i;
	for (size_t i = 0; i < AL_ARRAY_LEN(rows); i++) {
		char hex[65];
		hash_sha256_hex(data, rows[i].len, hex);
		assert_string_equal(hex, rows[i].hex);
	}
}

static void the_checksum_is_fnv_1a(void **state)
{
	assert_true(hash_checksum("", 0) == 0xcbf29ce484222325);
	assert_true(hash_checksum("a", 1) == 0xaf63dc4c8601ec8c);
	assert_true(hash_checksum("foobar", 6) == 0x85944171f73967e8);
	assert_true(hash_checksum("\0", 1) != hash_checksum("\0\0", 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fips_vectors),		cmocka_unit_test(a_million_times_a),
		cmocka_unit_test(nothing_may_be_null),	cmocka_unit_test(lengths_around_a_block),
		cmocka_unit_test(parts_make_the_whole), cmocka_unit_test(the_checksum_is_fnv_1a),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
