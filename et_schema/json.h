// A trace as JSON, for people and other programs. One direction: what is read is `.et`.
#pragma once

#include <iosfwd>
#include <string>

#include "core/result.h"

namespace reprise {

// {"metadata": {…}, "nodes": [{…}, …]}, one node a line, keys as in docs/et_format.md. Streams:
// memory does not grow with the file. If reading fails half-way, `out` holds incomplete JSON and
// the error is returned; a write error of `out` is returned too.
[[nodiscard]] Status WriteJson(const std::string& et_path, std::ostream& out);

}  // namespace reprise
