/* Declarations for each C file of simcodesign: exported functions, and structs whose layout Python checks.

   LAYOUT(run, PLACE(run, time_s), PLACE(run, operations)) exports layout_run(), which returns the size of struct run,
   then name, offset and size of each field, then an entry without a name. records.py compares them with its own. */
#ifndef SIMCODESIGN_LAYOUT_H
#define SIMCODESIGN_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

struct place {
    const char *field;
    int64_t offset_bytes, size_bytes;
};

#define PLACE(record, field) \
    { #field, offsetof(struct record, field), sizeof(((struct record *)0)->field) }

#define LAYOUT(record, ...)                                                                            \
    EXPORTED const struct place *layout_##record(void);                                                \
    const struct place *layout_##record(void) {                                                        \
        static const struct place places[] = {{"", 0, sizeof(struct record)}, __VA_ARGS__, {0, 0, 0}}; \
        return places;                                                                                 \
    }

#endif
