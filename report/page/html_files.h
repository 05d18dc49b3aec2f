// The files of the HTML pages (report/html/ and D3), embedded by CMake.
#pragma once

#include <span>
#include <string_view>

namespace reprise {

struct EmbeddedPageFile {
  std::string_view name;  // "page.css"
  std::string_view text;
};

// Defined in the generated file.
[[nodiscard]] std::span<const EmbeddedPageFile> EmbeddedPageFiles();

}  // namespace reprise
