// A file that the program carries: cmake/embed.cmake makes a list of them.
#pragma once

#include <string_view>

namespace reprise {

struct EmbeddedFile {
  std::string_view name;  // without its folders: "page.css"
  std::string_view text;
};

}  // namespace reprise
