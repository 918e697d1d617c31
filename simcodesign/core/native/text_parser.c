/* Lines of a trace of text, parsed byte by byte: see text_parser.py. The text ends with a newline, as every loop does. */

enum { IS_DIN, IS_LACKEY, IS_PIN };
enum { NO_DIGIT = 255, NO_LABEL = 255, FETCH = 3, MAX_ACCESS_BYTES = 1 << 16 };

struct trace_text {
    uint8_t *text, *labels, *digits;
    uint64_t *address;
    uint8_t *kind;
    uint64_t *group;
    uint32_t *size;
    int64_t bytes, form, with_fetches, accesses, lines, fetches, wrong;
    uint64_t issuer;
};
LAYOUT(trace_text, PLACE(trace_text, text), PLACE(trace_text, labels), PLACE(trace_text, digits),
       PLACE(trace_text, address), PLACE(trace_text, kind), PLACE(trace_text, group), PLACE(trace_text, size),
       PLACE(trace_text, bytes), PLACE(trace_text, form), PLACE(trace_text, with_fetches), PLACE(trace_text, accesses),
       PLACE(trace_text, lines), PLACE(trace_text, fetches), PLACE(trace_text, wrong), PLACE(trace_text, issuer))

static int is_blank(uint8_t byte) { return byte == ' ' || byte == '\t' || byte == '\r'; }

static const uint8_t *after_blanks(const uint8_t *at) {
    while (is_blank(*at)) at++;
    return at;
}

/* The place after `0x`, or the same place if there is none. */
static const uint8_t *after_0x(const uint8_t *at) {
    return at[0] == '0' && (at[1] == 'x' || at[1] == 'X') ? at + 2 : at;
}

/* Read a hexadecimal number; return the place after it. `good` becomes 0 if there is none or it exceeds 64 bits. */
static const uint8_t *read_hexadecimal(const struct trace_text *text, const uint8_t *at, uint64_t *number, int *good) {
    const uint8_t *start = at, *digits = text->digits;
    uint64_t value = 0;
    if (at + 8 < text->text + text->bytes) {
        /* Eight digits without a branch between them: most addresses have as many or more. */
        uint8_t every = 0;
        uint64_t together = 0;
        for (int place = 0; place < 8; place++) {
            every |= digits[at[place]];
            together = together << 4 | digits[at[place]];
        }
        if (every < 16) {
            value = together;
            at += 8;
        }
    }
    for (; digits[*at] != NO_DIGIT; at++) value = value << 4 | digits[*at];
    const uint8_t *first = start;
    if (at - start > 16)
        while (*first == '0') first++;
    *number = value;
    *good &= at > start && at - first <= 16;
    return at;
}

/* Read a comma, a decimal number, at most MAX_ACCESS_BYTES, and blanks to the end of the line. */
static const uint8_t *read_size(const uint8_t *at, uint32_t *size, int *good) {
    const int has_comma = *at == ',';
    at += has_comma;
    *good &= has_comma && *at >= '0' && *at <= '9';
    int64_t value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        value = value * 10 + (*at - '0');
        if (value > MAX_ACCESS_BYTES) value = MAX_ACCESS_BYTES;
    }
    *size = (uint32_t)value;
    at = after_blanks(at);
    *good &= *at == '\n';
    return at;
}

/* Whether a line is empty, a message of valgrind (==pid==, --pid--, **pid**), or a comment of a pintool. */
static int is_passed_over(const uint8_t *at, int64_t form) {
    if (form == IS_LACKEY && (*at == '=' || *at == '-' || *at == '*') && at[1] == at[0]) return 1;
    return *at == '\n' || (form == IS_PIN && *at == '#');
}

/* Parse a line that is not passed over; return a place in it, or null if it is wrong. */
static const uint8_t *parse_line(struct trace_text *text, const uint8_t *at) {
    const int64_t form = text->form;
    const int is_block = form == IS_LACKEY && at[0] == 'S' && at[1] == 'B'; /* the beginning of a superblock */
    int good = 1;
    if (form == IS_PIN) {
        at = read_hexadecimal(text, after_0x(at), &text->issuer, &good);
        good &= *at == ':';
        if (good) at = after_blanks(at + 1);
        text->fetches++;
    }
    const uint8_t label = text->labels[*at];
    good &= label != NO_LABEL;
    if (good) at += is_block ? 2 : 1;
    good &= is_blank(*at);
    at = after_blanks(at);
    if (form != IS_LACKEY) at = after_0x(at);
    uint64_t value;
    at = read_hexadecimal(text, at, &value, &good);
    if (is_block) {
        at = after_blanks(at);
        good &= *at == '\n';
    } else if (form == IS_LACKEY) {
        at = read_size(at, &text->size[text->accesses], &good);
    } else {
        good &= is_blank(*at) || *at == '\n';
    }
    if (!good) return 0;
    if (label == FETCH) {
        text->issuer = value;
        text->fetches++;
    }
    if (!is_block && (label != FETCH || text->with_fetches)) {
        text->address[text->accesses] = value;
        text->kind[text->accesses] = label;
        text->group[text->accesses] = text->issuer;
        text->accesses++;
    }
    return at;
}

EXPORTED void parse_trace_text(struct trace_text *text);
void parse_trace_text(struct trace_text *text) {
    const uint8_t *at = text->text, *end = at + text->bytes;
    text->wrong = -1;
    while (at < end) {
        const uint8_t *start = at;
        at = after_blanks(at);
        if (!is_passed_over(at, text->form)) {
            at = parse_line(text, at);
            if (!at) {
                text->wrong = start - text->text;
                return;
            }
        }
        while (*at != '\n') at++;
        at++;
        text->lines++;
    }
}
