// Compressed text, as captures often are.
#pragma once

#include <string>

namespace reprise {

std::string Gzip(const std::string& text);
std::string Zstd(const std::string& text);

}  // namespace reprise
