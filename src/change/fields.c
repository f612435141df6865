/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "change/fields.h"

#include "change/names.h"

void fields_add_stat(struct buf *b, const struct change_stat *s)
{
	buf_addc(b, ' ');
	buf_adds(b, change_type_name(s->type));
	buf_addc(b, ' ');
	buf_add_unsigned(b, s->mode, 8);
	fields_add_number(b, s->size);
	fields_add_number(b, s->inode);
	fields_add_number(b, s->links);
	fields_add_signed(b, s->mtime_ns);
	fields_add_signed(b, s->ctime_ns);
}

int fields_take_stat(struct fields *f, struct change_stat *ret)
{
	unsigned type = 0;
	uint32_t mode = 0;
	uint64_t links = 0;
	int rc = fields_take_name(f, change_type_names, "a type", &type);
	rc = rc < 0 ? rc : fields_take_mode(f, &mode);
	rc = rc < 0 ? rc : fields_take_number(f, &ret->size);
	rc = rc < 0 ? rc : fields_take_number(f, &ret->inode);
	rc = rc < 0 ? rc : fields_take_number(f, &links);
	rc = rc < 0 ? rc : fields_take_signed(f, &ret->mtime_ns);
	rc = rc < 0 ? rc : fields_take_signed(f, &ret->ctime_ns);
	ret->type = (enum change_type)type;
	ret->mode = (uint16_t)mode;
	ret->links = (uint32_t)AL_MIN(links, (uint64_t)UINT32_MAX);
	return rc;
}
