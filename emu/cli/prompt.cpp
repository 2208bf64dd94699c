// SPDX-License-Identifier: Apache-2.0
// See prompt.hpp.
#include "emu/cli/prompt.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>

#include "emu/cli/output.hpp"

#ifdef SASSEMU_LIBEDIT
#include <dlfcn.h>
#include <histedit.h>
#endif

namespace sassemu::cli {
namespace {

constexpr size_t most_bytes = 1 << 16;  // of one line

}  // namespace

#ifdef SASSEMU_LIBEDIT

namespace {

// The library is opened for a prompt; nothing else needs it.
struct Library {
    decltype(&::el_init) init = nullptr;
    decltype(&::el_end) end = nullptr;
    decltype(&::el_set) set = nullptr;
    decltype(&::el_get) get = nullptr;
    decltype(&::el_gets) gets = nullptr;
    decltype(&::el_line) line = nullptr;
    decltype(&::el_insertstr) insert = nullptr;
    decltype(&::history_init) history_init = nullptr;
    decltype(&::history_end) history_end = nullptr;
    decltype(&::history) history = nullptr;
    bool works = false;

    static const Library& instance() {
        static const Library library;
        return library;
    }

  private:
    Library() {
        void* const library = ::dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
        if (!library) return;
        const auto find = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library, name));
            return function != nullptr;
        };
        works = find(init, "el_init") && find(end, "el_end") && find(set, "el_set") &&
                find(get, "el_get") && find(gets, "el_gets") && find(line, "el_line") &&
                find(insert, "el_insertstr") && find(history_init, "history_init") &&
                find(history_end, "history_end") && find(history, "history");
    }
};

}  // namespace

struct Prompt::Editor {
    const Library& edit = Library::instance();
    Complete complete;
    Prompt* prompt = nullptr;
    EditLine* line = nullptr;
    History* history = nullptr;
    HistEvent event{};
    bool stopped = false;  // by Ctrl-C

    static Editor& of(EditLine* line) {
        void* self = nullptr;
        Library::instance().get(line, EL_CLIENTDATA, &self);
        return *static_cast<Editor*>(self);
    }
    // libedit's own read goes on after a signal.
    static int read_character(EditLine* line, wchar_t* out) {
        Editor& self = of(line);
        std::mbstate_t state{};
        for (;;) {
            char c = 0;
            const int got = self.prompt->read_byte(c);
            self.stopped = got < 0;
            if (got <= 0) return got;
            const size_t used = std::mbrtowc(out, &c, 1, &state);
            if (used == static_cast<size_t>(-2)) continue;  // more of it is to come
            if (used == static_cast<size_t>(-1)) *out = L'?';
            return 1;
        }
    }
    static unsigned char complete_word(EditLine* line, int) {
        Editor& self = of(line);
        const LineInfo* const now = self.edit.line(line);
        const std::string typed(now->buffer, static_cast<size_t>(now->cursor - now->buffer));
        const size_t space = typed.find_last_of(" \t");
        const std::string word = space == typed.npos ? typed : typed.substr(space + 1);
        const std::vector<std::string> all = self.complete(typed);
        if (all.empty()) return CC_ERROR;
        std::string common = all.front();
        for (const std::string& one : all) {
            size_t same = 0;
            while (same < std::min(common.size(), one.size()) && common[same] == one[same]) ++same;
            common.resize(same);
        }
        std::string more = common.size() > word.size() ? common.substr(word.size()) : "";
        if (all.size() == 1) more += ' ';
        if (!more.empty()) return self.edit.insert(line, more.c_str()) ? CC_ERROR : CC_REFRESH;
        std::string list = "\n";
        for (const std::string& one : all) list += one + (&one == &all.back() ? "\n" : "  ");
        print(list);
        std::fflush(stdout);
        return CC_REDISPLAY;
    }

    Editor(Prompt& of, Complete words) : complete(std::move(words)), prompt(&of) {
        if (!edit.works) return;
        std::setlocale(LC_CTYPE, "");
        line = edit.init("sassemu", stdin, stdout, stderr);
        history = edit.history_init();
        if (!line || !history) return;
        history_(H_SETSIZE, most_lines);
        history_(H_SETUNIQUE, 1);
        edit.set(line, EL_CLIENTDATA, this);
        edit.set(
            line, EL_PROMPT, +[](EditLine*) -> char* {
                static char text[] = "(sassemu) ";
                return text;
            });
        edit.set(line, EL_EDITOR, "emacs");
        edit.set(line, EL_SIGNAL, 0);
        edit.set(line, EL_HIST, edit.history, history);
        edit.set(line, EL_GETCFN, read_character);
        edit.set(line, EL_ADDFN, "sassemu-complete", "Complete a word", complete_word);
        edit.set(line, EL_BIND, "^I", "sassemu-complete", nullptr);
        edit.set(line, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    }
    ~Editor() {
        if (history) edit.history_end(history);
        if (line) edit.end(line);
    }
    Editor(const Editor&) = delete;
    [[nodiscard]] bool works() const { return line && history; }

    bool read(std::string& text) {
        int count = 0;
        stopped = false;
        const char* const got = edit.gets(line, &count);
        if (stopped) return true;
        if (!got || count <= 0) return false;
        text.assign(got, static_cast<size_t>(count));
        while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
        if (text.find_first_not_of(" \t") != text.npos) history_(H_ENTER, text.c_str());
        return true;
    }

  private:
    static constexpr int most_lines = 1000;
    template <class... Args>
    void history_(int what, Args... args) {
        edit.history(history, &event, what, args...);
    }
};

#else

struct Prompt::Editor {
    Editor(Prompt&, const Complete&) {}
    [[nodiscard]] bool works() const { return false; }
    bool read(std::string&) { return false; }
};

#endif

Prompt::Prompt(bool terminal, Complete complete, int interrupts)
    : terminal_(terminal), interrupts_(interrupts) {
    const char* const kind = std::getenv("TERM");
    if (!terminal || !kind || !*kind || !std::strcmp(kind, "dumb")) return;
    editor_ = std::make_unique<Editor>(*this, std::move(complete));
    if (!editor_->works()) editor_.reset();
}

Prompt::~Prompt() = default;

int Prompt::read_byte(char& c) const {
    pollfd of[2] = {{STDIN_FILENO, POLLIN, 0}, {interrupts_, POLLIN, 0}};
    for (;;) {
        if (::poll(of, 2, -1) < 0) {
            if (errno == EINTR) continue;
            return 0;
        }
        if (of[1].revents & POLLIN) {
            drain();
            print("Quit\n");
            std::fflush(stdout);
            return -1;
        }
        const ssize_t got = ::read(STDIN_FILENO, &c, 1);
        if (got >= 0) return static_cast<int>(got);
        if (errno != EINTR) return 0;
    }
}

void Prompt::drain() const {
    for (char told[64]; ::read(interrupts_, told, sizeof told) > 0;) {
    }
}

bool Prompt::read(std::string& line) {
    line.clear();
    drain();  // what was meant for the command before
    if (editor_) return editor_->read(line);
    if (terminal_) {
        print("(sassemu) ");
        std::fflush(stdout);
    }
    return read_plainly(line);
}

bool Prompt::read_plainly(std::string& line) {
    for (;;) {
        char c = 0;
        const int got = read_byte(c);
        if (got < 0) line.clear();
        if (got < 0) return true;
        if (got == 0) return !line.empty();
        if (c == '\n') return true;
        line += c;
        if (line.size() > most_bytes) return false;
    }
}

}  // namespace sassemu::cli
