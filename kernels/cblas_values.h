// Values of cblas.h's enums, which CLBlast takes as well: the libraries are opened at run time,
// without their headers.
#pragma once

namespace reprise {

enum CblasValue : int { kRowMajor = 101, kNoTranspose = 111, kTranspose = 112 };

}  // namespace reprise
