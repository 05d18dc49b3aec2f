// Walks a JSON text of any size value by value: what is not wanted is skipped at the speed of
// memory, what is wanted is taken as text. For formats whose lists lie deep in an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "converters/text_source.h"
#include "core/result.h"

namespace reprise {

// The walk stands before a value, or before what follows one. Bad input names the file, the byte of
// its text, and what was expected there. Of a skipped value, strings end and brackets are counted;
// what else it has is not checked.
class JsonWalk {
 public:
  explicit JsonWalk(TextSource& source) : source_(source) {}

  // The first byte of the value that is next: '{', '[', '"', a digit, 't' …
  [[nodiscard]] Result<char> Peek();
  // Goes into the object or list that is next.
  [[nodiscard]] Status Enter();
  // In an object: goes to the value of the next member, whose name it sets. False: the object
  // ended. A name is as the text has it, with its escapes.
  [[nodiscard]] Result<bool> NextMember(std::string& name);
  // In a list: goes to the next element. False: the list ended.
  [[nodiscard]] Result<bool> NextElement();
  [[nodiscard]] Status Skip();
  // The text of the value, with simdjson's padding behind it, until the next call. Bad input: it is
  // longer than kMostBytes.
  [[nodiscard]] Result<std::string_view> Take();
  // Nothing but blanks may follow the outermost value.
  [[nodiscard]] Status End();
  // Of the text, where the walk stands.
  [[nodiscard]] std::size_t at_byte() const { return at_byte_ + begin_; }

  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

 private:
  [[nodiscard]] Result<bool> ReadMore();  // false: the text ended
  // The next byte that is no blank, or '\0' at the end.
  [[nodiscard]] Result<char> NextByte();
  // Goes to the next of a container's items, which ends with `close`.
  [[nodiscard]] Result<bool> NextItem(char close);
  // Calls `ReadMore` as needed; `keep`: what is passed stays in the buffer.
  [[nodiscard]] Result<std::size_t> FindEnd(bool keep);
  [[nodiscard]] tl::unexpected<Error> Expected(std::string_view what) const;
  [[nodiscard]] tl::unexpected<Error> EndsEarly() const;

  TextSource& source_;
  std::string buffer_;  // [begin_, end_) was read and not passed
  std::size_t begin_ = 0, end_ = 0;
  std::size_t at_byte_ = 0;  // of the buffer's begin, in the text
  bool fresh_ = false;       // just behind an opening bracket: no comma is due
};

}  // namespace reprise
