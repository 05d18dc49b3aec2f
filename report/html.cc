#include "report/html.h"

#include "report/html_data.h"
#include "report/html_files.h"

namespace reprise {
namespace {

// All files whose names end like this, in order.
std::string FilesThatEnd(std::string_view suffix) {
  std::string text;
  for (const EmbeddedPageFile& file : EmbeddedPageFiles()) {
    if (file.name.ends_with(suffix)) {
      text += file.text;
      text += '\n';
    }
  }
  return text;
}

}  // namespace

std::string EscapeForScript(std::string_view json) {
  std::string escaped;
  escaped.reserve(json.size() + json.size() / 16);
  for (std::size_t i = 0; i < json.size(); ++i) {
    // Outside of strings JSON has none of these, and within them \u means the same.
    const std::string_view rest = json.substr(i);
    if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      escaped += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (json[i] == '<') {
      escaped += "\\u003c";
    } else if (json[i] == '>') {
      escaped += "\\u003e";
    } else if (json[i] == '&') {
      escaped += "\\u0026";
    } else {
      escaped += json[i];
    }
  }
  return escaped;
}

std::string HtmlText(const MeasuredRun& run, const Report& report) {
  const std::string page = FilesThatEnd(".html");
  // The page names what stands where; what is put in is not searched again.
  std::string text;
  std::size_t at = 0;
  const auto put = [&](std::string_view name, const std::string& value) {
    const std::size_t found = page.find(name, at);
    text += page.substr(at, found - at) + value;
    at = found + name.size();
  };
  put("{{style}}", FilesThatEnd(".css"));
  put("{{data}}", EscapeForScript(HtmlDataJson(run, report)));
  put("{{scripts}}", FilesThatEnd(".js"));
  return text + page.substr(at);
}

}  // namespace reprise
