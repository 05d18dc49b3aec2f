// Finds where the elements of a huge JSON array may be cut apart, at the speed of memory: strings
// and depth alone are followed, 64 bytes at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace reprise {

class ArrayScanner {
 public:
  static constexpr std::size_t kBlock = 64;

  // What follows is the text after an array's '['.
  void Begin() { *this = ArrayScanner(); }

  struct Found {
    std::size_t comma = std::string_view::npos;  // the last one between elements
    std::size_t end = std::string_view::npos;    // the bracket that ends the array
    std::size_t scanned = 0;                     // not beyond `end`; the next call continues there
  };
  // Whole blocks only, unless the text `ends` here. After the end of the array, Begin is due.
  Found Scan(std::string_view text, bool ends);

 private:
  struct Marks;
  struct Portable;
  struct Haswell;
  struct Icelake;
  template <typename Machine>
  Found ScanWith(std::string_view text, bool ends);
  Found ScanHaswell(std::string_view text, bool ends);
  Found ScanIcelake(std::string_view text, bool ends);
  std::uint64_t InsideOf(const Marks& marks, bool escaped);
  template <typename Machine>
  void ScanBlock(const Marks& marks, std::size_t at, Found& found);
  void Follow(std::uint64_t opens, std::uint64_t closes, std::uint64_t commas, std::size_t at,
              Found& found);

  std::uint64_t in_string_ = 0;  // all ones: the previous block ended inside of a string
  std::uint64_t escaped_ = 0;    // 1: the first byte of the next block is escaped
  std::int64_t depth_ = 1;
};

}  // namespace reprise
