-- {{< made tables/_x.md >}}: a file that staging makes, as if its text stood here; its path is relative to the page.
-- An include would be read before Quarto has run what stages, and fail in a fresh clone.

return {
  made = function(arguments)
    local name = pandoc.utils.stringify(arguments[1])
    local file = io.open(pandoc.path.join({ pandoc.path.directory(quarto.doc.input_file), name }), "r")
    if not file then
      error(name .. " is not staged: run `attreval stage`, which makes it, and render again")
    end
    local text = file:read("a")
    file:close()
    return quarto.utils.string_to_blocks(text)
  end,
}
