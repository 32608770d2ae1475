-- Names the notebook below what is embedded from it, and links to its page, in place of Quarto's previews of notebooks.

function Div(div)
  local name = div.classes:includes("quarto-embed-nb-cell") and div.attributes.notebook:match("([^/\\]+)%.ipynb$")
  if name then
    local link = pandoc.Link(name, "notebooks/" .. name .. ".html")
    div.content:insert(pandoc.Div(pandoc.Plain({ pandoc.Str("Source:"), pandoc.Space(), link }), { class = "source" }))
    div.attributes = {}
    return div
  end
end
