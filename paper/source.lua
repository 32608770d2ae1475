-- Names the notebook below what is embedded from it, and links to its page, in place of Quarto's previews of notebooks.
-- Both routes use it; by Quarto `notebook` is a path of the machine and there is no `href`. There it also marks the
-- labels of captions, such as `Figure 1:`, as the other route does by itself.

function Div(div)
  local name = div.classes:includes("quarto-embed-nb-cell") and div.attributes.notebook:match("([^/\\]+)%.ipynb$")
  if name then
    local link = pandoc.Link(name, div.attributes.href or "notebooks/" .. name .. ".html")
    div.content:insert(pandoc.Div(pandoc.Plain({ pandoc.Str("Source:"), pandoc.Space(), link }), { class = "source" }))
    div.attributes = {}
    return div
  end
end

function Inlines(inlines)
  local label = pandoc.Inlines({ table.unpack(inlines, 1, 4) })
  if pandoc.utils.stringify(label):match("^%u%l+\u{a0}%d+:$") then
    return { pandoc.Span(label, { class = "float-number" }), table.unpack(inlines, 5) }
  end
end
