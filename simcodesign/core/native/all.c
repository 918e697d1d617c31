/* All C functions of simcodesign: one translation unit, one shared library. */
#include "layout.h"

#if __has_include("../../engine/native/all.c")
#include "../../engine/native/all.c"
#endif
