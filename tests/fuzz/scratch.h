// What fuzz programs share that try files: a directory for inputs, and what is tried with one.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace reprise {

// One for each process: libFuzzer runs several. `name`: how it begins.
inline std::filesystem::path FuzzDirectory(const std::string& name) {
  std::string pattern = (std::filesystem::temp_directory_path() / (name + "_XXXXXX")).string();
  if (mkdtemp(pattern.data()) == nullptr) {
    std::abort();
  }
  return pattern;
}

inline void WriteInput(const std::filesystem::path& path, const std::uint8_t* data,
                       std::size_t size) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
}

}  // namespace reprise
