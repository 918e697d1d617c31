/* Declarations for each C file of simcodesign: exported functions, and structs whose fields Python asks for.

   LAYOUT(run, PLACE(run, time_s), PLACE(run, operations)) exports layout_run(), which returns the size of struct run,
   then name, type, offset and size of each field, then an entry without a name. records.py reads them. */
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
    const char *field, *type;
    int64_t offset_bytes, size_bytes;
};

/* Empty for other types. */
#define TYPE_OF(value)                                                                                        \
    _Generic((value), double: "double", int64_t: "int64_t", uint64_t: "uint64_t", int32_t: "int32_t",         \
             double *: "double *", int64_t *: "int64_t *", uint64_t *: "uint64_t *", int32_t *: "int32_t *",  \
             uint32_t *: "uint32_t *", uint8_t *: "uint8_t *", default: "")

#define PLACE_IN(owner, field, type) {#field, type, offsetof(owner, field), sizeof(((owner *)0)->field)}
#define PLACE(record, field) PLACE_IN(struct record, field, TYPE_OF(((struct record *)0)->field))

/* Each place is followed by a comma. */
#define LAYOUT_OF(owner, name, ...)                                                                      \
    EXPORTED const struct place *layout_##name(void);                                                    \
    const struct place *layout_##name(void) {                                                            \
        typedef owner Owner;                                                                             \
        static const struct place places[] = {{"", "", 0, sizeof(Owner)}, __VA_ARGS__ {0, 0, 0, 0}};     \
        return places;                                                                                   \
    }
#define LAYOUT(record, ...) LAYOUT_OF(struct record, record, __VA_ARGS__, )

#endif
