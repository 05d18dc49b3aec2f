// Looks up texts by name: a manifest's options and versions.
#pragma once

#include <map>
#include <string>

namespace reprise {

[[nodiscard]] inline std::string TextIn(const std::map<std::string, std::string>& texts,
                                        const std::string& name,
                                        const std::string& otherwise = "") {
  const auto found = texts.find(name);
  return found == texts.end() ? otherwise : found->second;
}

}  // namespace reprise
