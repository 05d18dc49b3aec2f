// Splits a JSON object with one huge array into the array's elements, without parsing them: each
// element is parsed on its own then, from cache and in parallel, and files may exceed 4 GiB.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "converters/text_file.h"
#include "core/result.h"

namespace reprise {

struct SplitJson {
  std::vector<std::pair<std::string_view, std::string_view>> members;  // key → raw JSON
  bool has_array = false;
  std::vector<std::string_view> elements;  // of the array

  // Raw JSON of a member, empty if absent.
  [[nodiscard]] std::string_view Member(std::string_view key) const;
};

// `array_key` is the member whose array is split. Views point into `file`. Bad input if the text is
// not an object or ends early; what is inside elements is only checked by ParseElement. `error_at`
// is the byte in the file where an error is, for the array where it begins.
[[nodiscard]] Result<SplitJson> SplitObject(const TextFile& file, std::string_view array_key,
                                            std::size_t* error_at = nullptr);

// What is left of a text that is one array alone once its elements were taken out. `open`: without
// its ']'. Bad input if more follows.
[[nodiscard]] Result<SplitJson> SplitList(const TextFile& file, bool open, std::size_t* error_at);

// The raw text of an object's member, the first of that name; empty: there is none.
[[nodiscard]] std::string_view MemberText(std::string_view object, std::string_view key);

// The elements of a text that is one array. `more_follow`: the array was cut there, at a comma.
[[nodiscard]] Result<std::vector<std::string_view>> SplitElements(const TextFile& file,
                                                                  bool more_follow);

// Values one after the other, as some writers put them into one file: `{…}{…}`, also on lines of
// their own or with commas between them; the elements of an array if that is the only value.
// `cut`: of files that are written all the time, in which the last value may lack its end: set to
// its first byte, and the values before it are the result.
[[nodiscard]] Result<std::vector<std::string_view>> SplitValues(
    const TextFile& file, std::optional<std::size_t>* cut = nullptr);

// Parses one element or member. The result is valid in `parser` until its next use. NaN and
// infinities, which Python's and PyTorch's writers let through although JSON has none, become null;
// `patched` is set then.
[[nodiscard]] Result<simdjson::dom::element> ParseElement(simdjson::dom::parser& parser,
                                                          const TextFile& file,
                                                          std::string_view element,
                                                          bool* patched = nullptr);

}  // namespace reprise
