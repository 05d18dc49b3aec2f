// Linked into every fuzz program: one input may take so much time and memory, no more, unless the
// command line says otherwise.
#include <string>
#include <vector>

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  static std::vector<std::string> texts(*argv, *argv + *argc);
  for (const char* limit : {"-rss_limit_mb=2048", "-malloc_limit_mb=1024", "-timeout=10"}) {
    texts.insert(texts.begin() + (texts.empty() ? 0 : 1), limit);  // before those that were given
  }
  static std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  *argc = static_cast<int>(texts.size());
  *argv = pointers.data();
  return 0;
}
